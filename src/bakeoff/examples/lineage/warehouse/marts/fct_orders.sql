-- Grain: order.
CREATE TABLE marts.fct_orders AS
WITH totals AS (
    SELECT
        order_id,
        sum(quantity) AS unit_count,
        count(DISTINCT sku) AS distinct_skus,
        sum(net_eur) AS net_eur,
        sum(vat_eur) AS vat_eur,
        sum(voucher_eur) AS voucher_eur
    FROM marts.fct_order_lines
    GROUP BY order_id
)
SELECT
    o.order_id,
    o.person_id,
    o.ordered_at,
    o.order_date,
    o.order_status,
    o.is_valid_sale,
    o.ship_country_code,
    o.sales_channel,
    o.subscription_id IS NOT NULL AS is_subscription_order,
    t.unit_count,
    t.distinct_skus,
    t.net_eur,
    t.vat_eur,
    t.voucher_eur,
    round(o.shipping_charge * fx.eur_per_unit, 2) AS shipping_gross_eur,
    CASE WHEN o.is_valid_sale THEN
        row_number() OVER (
            PARTITION BY o.person_id, o.is_valid_sale
            ORDER BY o.ordered_at, o.order_id
        )
    END AS order_sequence,
    o.order_date - lag(o.order_date) OVER (
        PARTITION BY o.person_id, o.is_valid_sale
        ORDER BY o.ordered_at, o.order_id
    ) AS days_since_previous
FROM staging.stg_orders AS o
JOIN totals AS t
    ON t.order_id = o.order_id
JOIN staging.stg_fx_rates AS fx
    ON fx.currency_code = o.currency_code
   AND fx.rate_date = o.order_date;
