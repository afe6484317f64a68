-- Grain: order. What we hold of the customer's money.
CREATE TABLE marts.fct_payments AS
WITH received AS (
    SELECT
        p.order_id,
        sum(p.captured_amount * fx.eur_per_unit) AS captured_eur,
        sum(p.chargeback_amount * fx.eur_per_unit) AS disputed_eur,
        sum(p.failed_attempts) AS failed_attempts,
        min(p.captured_at) AS first_captured_at
    FROM staging.stg_payments AS p
    JOIN staging.stg_fx_rates AS fx
        ON fx.currency_code = p.currency_code
       AND fx.rate_date = CAST(p.captured_at AS DATE)
    WHERE p.payment_state IN ('captured', 'disputed')
    GROUP BY p.order_id
),
given_back AS (
    SELECT
        r.order_id,
        sum(r.amount * fx.eur_per_unit) AS refunded_eur,
        count(*) AS refund_count
    FROM staging.stg_refunds AS r
    JOIN staging.stg_fx_rates AS fx
        ON fx.currency_code = r.currency_code
       AND fx.rate_date = r.refund_date
    GROUP BY r.order_id
)
SELECT
    coalesce(i.order_id, b.order_id) AS order_id,
    i.first_captured_at,
    coalesce(i.failed_attempts, 0) AS failed_attempts,
    round(coalesce(i.captured_eur, 0), 2) AS captured_eur,
    round(coalesce(i.disputed_eur, 0), 2) AS disputed_eur,
    round(coalesce(b.refunded_eur, 0), 2) AS refunded_eur,
    coalesce(b.refund_count, 0) AS refund_count,
    round(
        coalesce(i.captured_eur, 0) - coalesce(i.disputed_eur, 0) - coalesce(b.refunded_eur, 0), 2
    ) AS kept_eur
FROM received AS i
FULL JOIN given_back AS b
    ON b.order_id = i.order_id;
