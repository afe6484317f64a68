-- Grain: subscription and stretch of time in which nothing changed.
CREATE VIEW staging.stg_subscription_periods AS
WITH last_of_day AS (
    SELECT *
    FROM base.subscription_events
    QUALIFY row_number() OVER (
        PARTITION BY subscription_id, effective_on
        ORDER BY recorded_at DESC, event_id DESC
    ) = 1
),
stretched AS (
    SELECT
        e.subscription_id,
        i.person_id,
        e.plan_id,
        e.event_type,
        e.quantity,
        e.discount_percent,
        e.effective_on AS period_start,
        lead(e.effective_on) OVER (
            PARTITION BY e.subscription_id ORDER BY e.effective_on
        ) AS next_change_on
    FROM last_of_day AS e
    JOIN staging.stg_customer_identity AS i
        ON i.account_id = e.customer_id
)
SELECT
    subscription_id,
    person_id,
    plan_id,
    quantity,
    discount_percent,
    period_start,
    coalesce(next_change_on, DATE '9999-12-31') AS period_end,
    event_type AS opened_by
FROM stretched
WHERE event_type IN ('started', 'plan_changed', 'resumed');
