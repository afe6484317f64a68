CREATE VIEW reports.rpt_checkout_funnel AS
WITH weekly AS (
    SELECT
        date_trunc('week', session_date) AS week_start,
        traffic_channel,
        count(*) AS visits,
        count(*) FILTER (WHERE did_view) AS views,
        count(*) FILTER (WHERE did_basket) AS baskets,
        count(*) FILTER (WHERE did_checkout) AS checkouts,
        count(*) FILTER (WHERE did_buy) AS purchases,
        quantile_cont(seconds_basket_to_buy, 0.5) FILTER (WHERE did_buy) AS median_seconds
    FROM marts.fct_funnel
    GROUP BY date_trunc('week', session_date), traffic_channel
)
SELECT
    week_start,
    traffic_channel,
    visits,
    views / nullif(visits, 0) AS view_rate,
    baskets / nullif(views, 0) AS basket_rate,
    checkouts / nullif(baskets, 0) AS checkout_rate,
    purchases / nullif(checkouts, 0) AS completion_rate,
    purchases / nullif(visits, 0) AS overall_rate,
    1 - purchases / nullif(baskets, 0) AS abandonment_rate,
    median_seconds
FROM weekly
ORDER BY week_start DESC, visits DESC;
