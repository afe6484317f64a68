-- Grain: processor reference. Both sides are kept, matched or not.
CREATE TABLE marts.fct_settlement_matches AS
WITH ours AS (
    SELECT
        processor,
        processor_reference,
        currency_code,
        any_value(order_id) AS order_id,
        sum(captured_amount - chargeback_amount) AS booked_amount,
        max(CAST(captured_at AS DATE)) AS captured_on
    FROM staging.stg_payments
    WHERE payment_state IN ('captured', 'disputed')
    GROUP BY processor, processor_reference, currency_code
),
theirs AS (
    SELECT
        processor,
        processor_reference,
        currency_code,
        sum(sale_amount + returned_amount) AS settled_amount,
        sum(fee_amount) AS fee_amount,
        max(settled_on) AS settled_on,
        count(DISTINCT batch_id) AS batch_count
    FROM staging.stg_settlements
    GROUP BY processor, processor_reference, currency_code
)
SELECT
    coalesce(o.processor, t.processor) AS processor,
    coalesce(o.processor_reference, t.processor_reference) AS processor_reference,
    coalesce(o.currency_code, t.currency_code) AS currency_code,
    o.order_id,
    o.captured_on,
    t.settled_on,
    t.settled_on - o.captured_on AS days_to_settle,
    o.booked_amount,
    t.settled_amount,
    coalesce(t.fee_amount, 0) AS fee_amount,
    coalesce(t.settled_amount, 0) - coalesce(o.booked_amount, 0) AS difference,
    CASE
        WHEN o.processor_reference IS NULL THEN 'only at processor'
        WHEN t.processor_reference IS NULL AND o.captured_on > current_date - 5 THEN 'in transit'
        WHEN t.processor_reference IS NULL THEN 'only in books'
        WHEN abs(t.settled_amount - o.booked_amount) <= 0.01 THEN 'matched'
        ELSE 'amount differs'
    END AS match_state
FROM ours AS o
FULL JOIN theirs AS t
    ON t.processor = o.processor
   AND t.processor_reference = o.processor_reference
   AND t.currency_code = o.currency_code;
