-- Reader: accounting. Orders that were sent but not paid in full, and the other way round.
CREATE VIEW reports.rpt_open_balances AS
WITH balances AS (
    SELECT
        o.order_id,
        o.person_id,
        o.order_date,
        o.order_status,
        CASE
            WHEN o.order_status = 'cancelled' THEN 0
            ELSE o.net_eur + o.vat_eur + o.shipping_gross_eur - coalesce(p.refunded_eur, 0)
        END AS owed_eur,
        coalesce(p.kept_eur, 0) AS kept_eur,
        coalesce(p.failed_attempts, 0) AS failed_attempts
    FROM marts.fct_orders AS o
    LEFT JOIN marts.fct_payments AS p
        ON p.order_id = o.order_id
)
SELECT
    order_id,
    person_id,
    order_date,
    order_status,
    owed_eur,
    kept_eur,
    failed_attempts,
    owed_eur - kept_eur AS balance_eur,
    CASE
        WHEN order_status = 'cancelled' THEN 'to be given back'
        WHEN owed_eur - kept_eur > 1 THEN 'customer owes'
        ELSE 'overpaid'
    END AS balance_state,
    current_date - order_date AS age_days
FROM balances
WHERE order_status IN ('fulfilled', 'cancelled')
  AND abs(owed_eur - kept_eur) > 1;
