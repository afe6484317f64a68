-- Grain: person.
CREATE TABLE marts.fct_customer_value AS
WITH bought AS (
    SELECT
        person_id,
        count(*) AS order_count,
        min(order_date) AS first_order_date,
        max(order_date) AS last_order_date,
        sum(net_eur) AS net_eur,
        median(days_since_previous) AS typical_gap_days
    FROM marts.fct_orders
    WHERE is_valid_sale
    GROUP BY person_id
),
returned AS (
    SELECT person_id, sum(refund_net_eur) AS refund_net_eur
    FROM marts.fct_refunds
    GROUP BY person_id
)
SELECT
    c.person_id,
    c.country_code,
    c.loyalty_tier,
    coalesce(b.order_count, 0) AS order_count,
    b.first_order_date,
    b.last_order_date,
    b.typical_gap_days,
    coalesce(b.net_eur, 0) - coalesce(r.refund_net_eur, 0) AS lifetime_net_eur,
    CASE
        WHEN b.order_count IS NULL THEN 'never bought'
        WHEN current_date - b.last_order_date > greatest(coalesce(3 * b.typical_gap_days, 0), 180)
            THEN 'lapsed'
        WHEN b.order_count = 1 THEN 'one-time'
        ELSE 'active'
    END AS buying_state
FROM marts.dim_customers AS c
LEFT JOIN bought AS b
    ON b.person_id = c.person_id
LEFT JOIN returned AS r
    ON r.person_id = c.person_id
WHERE c.is_current;
