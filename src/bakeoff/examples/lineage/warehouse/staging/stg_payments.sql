-- Grain: payment.
CREATE VIEW staging.stg_payments AS
WITH first_notice AS (
    SELECT *
    FROM base.payments
    QUALIFY row_number() OVER (
        PARTITION BY payment_id, event_type, amount
        ORDER BY received_at, notice_id
    ) = 1
),
folded AS (
    SELECT
        payment_id,
        order_id,
        any_value(processor) AS processor,
        max(processor_reference) AS processor_reference,
        any_value(upper(currency_code)) AS currency_code,
        any_value(method) AS method,
        min(occurred_at) FILTER (WHERE event_type = 'authorised') AS authorised_at,
        min(occurred_at) FILTER (WHERE event_type = 'captured') AS captured_at,
        coalesce(sum(amount) FILTER (WHERE event_type = 'captured'), 0) AS captured_amount,
        coalesce(sum(amount) FILTER (WHERE event_type = 'chargeback'), 0) AS chargeback_amount,
        bool_or(event_type = 'voided') AS is_voided,
        count(*) FILTER (WHERE event_type = 'failed') AS failed_attempts
    FROM first_notice
    GROUP BY payment_id, order_id
)
SELECT
    *,
    CASE
        WHEN chargeback_amount > 0 THEN 'disputed'
        WHEN captured_at IS NOT NULL THEN 'captured'
        WHEN is_voided THEN 'voided'
        WHEN authorised_at IS NOT NULL THEN 'authorised'
        ELSE 'failed'
    END AS payment_state
FROM folded;
