-- Grain: order. Which visit gets the credit.
CREATE TABLE marts.fct_attribution AS
WITH touches AS (
    SELECT
        o.order_id,
        o.order_date,
        o.net_eur,
        o.order_sequence,
        v.session_id,
        v.traffic_channel,
        v.campaign_name,
        v.started_at,
        row_number() OVER (
            PARTITION BY o.order_id
            ORDER BY (v.traffic_channel = 'direct'), v.started_at DESC
        ) AS credit_rank,
        count(v.session_id) OVER (PARTITION BY o.order_id) AS visits_before_order
    FROM marts.fct_orders AS o
    LEFT JOIN staging.stg_customer_identity AS i
        ON i.person_id = o.person_id
    LEFT JOIN staging.stg_sessions AS v
        ON v.customer_id = i.account_id
       AND v.started_at <= o.ordered_at
       AND v.started_at > o.ordered_at - INTERVAL 30 DAY
    WHERE o.is_valid_sale
      AND o.sales_channel IN ('web', 'app')
)
SELECT
    order_id,
    order_date,
    net_eur,
    order_sequence = 1 AS is_first_order,
    session_id AS credited_session_id,
    coalesce(traffic_channel, 'unknown') AS credited_channel,
    campaign_name AS credited_campaign,
    visits_before_order
FROM touches
WHERE credit_rank = 1;
