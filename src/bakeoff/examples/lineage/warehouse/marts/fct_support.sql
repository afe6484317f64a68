CREATE TABLE marts.fct_support AS
WITH parcel_trouble AS (
    SELECT
        order_id,
        bool_or(is_late) AS had_late_parcel,
        bool_or(is_failed) AS had_lost_parcel
    FROM marts.fct_deliveries
    GROUP BY order_id
)
SELECT
    t.ticket_id,
    t.person_id,
    t.order_id,
    t.channel,
    t.topic,
    CAST(t.opened_at AS DATE) AS opened_on,
    t.minutes_to_reply,
    t.hours_to_close,
    t.is_open,
    t.was_reopened,
    t.satisfaction_score,
    -- the tier the customer had on that day, not the one of today
    c.loyalty_tier AS tier_when_opened,
    coalesce(d.had_late_parcel, FALSE) AS had_late_parcel,
    coalesce(d.had_lost_parcel, FALSE) AS had_lost_parcel,
    t.minutes_to_reply <= CASE
        WHEN c.loyalty_tier = 'gold' THEN 60
        WHEN t.priority = 1 THEN 120
        ELSE 480
    END AS replied_in_time
FROM staging.stg_support_tickets AS t
LEFT JOIN marts.dim_customers AS c
    ON c.person_id = t.person_id
   AND t.opened_at >= c.valid_from
   AND t.opened_at < c.valid_to
LEFT JOIN parcel_trouble AS d
    ON d.order_id = t.order_id;
