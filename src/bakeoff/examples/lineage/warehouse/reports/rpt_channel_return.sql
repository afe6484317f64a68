-- Reader: marketing.
CREATE VIEW reports.rpt_channel_return AS
WITH earned AS (
    SELECT
        date_trunc('week', order_date) AS week_start,
        credited_channel AS channel,
        lower(credited_campaign) AS campaign_name,
        count(*) AS order_count,
        count(*) FILTER (WHERE is_first_order) AS new_customers,
        sum(net_eur) AS net_eur
    FROM marts.fct_attribution
    GROUP BY ALL
),
spent AS (
    SELECT
        date_trunc('week', spend_date) AS week_start,
        traffic_channel AS channel,
        campaign_name,
        sum(spend_eur) AS spend_eur,
        sum(clicks) AS clicks
    FROM staging.stg_ad_spend
    GROUP BY ALL
)
SELECT
    coalesce(e.week_start, s.week_start) AS week_start,
    coalesce(e.channel, s.channel) AS channel,
    coalesce(e.campaign_name, s.campaign_name) AS campaign_name,
    coalesce(s.spend_eur, 0) AS spend_eur,
    coalesce(e.net_eur, 0) AS net_eur,
    e.net_eur / nullif(s.spend_eur, 0) AS return_on_spend,
    s.spend_eur / nullif(e.new_customers, 0) AS cost_per_new_customer,
    s.spend_eur / nullif(s.clicks, 0) AS cost_per_click
FROM earned AS e
FULL JOIN spent AS s
    ON s.week_start = e.week_start
   AND s.channel = e.channel
   AND s.campaign_name = e.campaign_name;
