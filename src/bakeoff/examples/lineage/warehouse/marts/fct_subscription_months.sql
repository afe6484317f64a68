-- Grain: subscription and month in which it ran on the last day.
CREATE TABLE marts.fct_subscription_months AS
WITH months AS (
    SELECT DISTINCT month_start, month_end
    FROM base.calendar
    WHERE month_start <= current_date
)
SELECT
    m.month_start,
    p.subscription_id,
    p.person_id,
    p.plan_id,
    b.plan_name,
    b.is_legacy,
    p.quantity,
    round(
        p.quantity
            * b.price_eur
            * (1 - p.discount_percent / 100)
            / b.billing_interval_months,
        2
    ) AS mrr_eur
FROM staging.stg_subscription_periods AS p
JOIN months AS m
    ON m.month_end >= p.period_start
   AND m.month_end < p.period_end
JOIN base.subscription_plans AS b
    ON b.plan_id = p.plan_id
WHERE NOT b.is_gift;
