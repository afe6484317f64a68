CREATE VIEW reports.rpt_customer_segments AS
WITH scored AS (
    SELECT
        person_id,
        country_code,
        loyalty_tier,
        lifetime_net_eur,
        ntile(5) OVER (ORDER BY last_order_date) AS recency,
        ntile(5) OVER (ORDER BY order_count) AS frequency,
        ntile(5) OVER (ORDER BY lifetime_net_eur) AS worth
    FROM marts.fct_customer_value
    WHERE order_count > 0
),
labelled AS (
    SELECT
        *,
        CASE
            WHEN recency >= 4 AND frequency >= 4 AND worth >= 4 THEN 'champions'
            WHEN recency >= 4 AND frequency <= 2 THEN 'promising'
            WHEN recency <= 2 AND worth >= 4 THEN 'win back'
            WHEN recency = 1 THEN 'lost'
            ELSE 'regulars'
        END AS segment
    FROM scored
)
SELECT
    segment,
    country_code,
    count(*) AS people,
    sum(lifetime_net_eur) AS net_eur,
    avg(lifetime_net_eur) AS net_eur_per_head,
    avg(CAST(loyalty_tier = 'gold' AS INTEGER)) AS gold_share
FROM labelled
GROUP BY segment, country_code
ORDER BY net_eur DESC;
