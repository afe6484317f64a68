CREATE TABLE marts.fct_refunds AS
WITH order_tax AS (
    SELECT
        order_id,
        sum(vat_eur) / nullif(sum(net_eur), 0) AS mean_vat_rate
    FROM marts.fct_order_lines
    GROUP BY order_id
)
SELECT
    r.refund_id,
    r.order_id,
    r.line_number,
    l.sku,
    o.person_id,
    o.order_date,
    r.refund_date,
    r.refund_date - o.order_date AS days_after_order,
    r.reason_code,
    r.responsible_area,
    r.goods_returned,
    r.is_automatic,
    round(r.amount * fx.eur_per_unit, 2) AS refund_gross_eur,
    -- a refund without a position takes the mean tax of its order
    round(
        r.amount * fx.eur_per_unit / (1 + coalesce(l.vat_rate, t.mean_vat_rate, 0)), 2
    ) AS refund_net_eur
FROM staging.stg_refunds AS r
JOIN staging.stg_orders AS o
    ON o.order_id = r.order_id
JOIN staging.stg_fx_rates AS fx
    ON fx.currency_code = r.currency_code
   AND fx.rate_date = r.refund_date
LEFT JOIN marts.fct_order_lines AS l
    ON l.order_id = r.order_id
   AND l.line_number = r.line_number
LEFT JOIN order_tax AS t
    ON t.order_id = r.order_id;
