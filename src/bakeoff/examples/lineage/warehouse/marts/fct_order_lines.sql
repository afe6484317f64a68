-- Grain: order position. All amounts in euro and without VAT unless the name says gross.
CREATE TABLE marts.fct_order_lines AS
WITH converted AS (
    SELECT
        l.order_id,
        l.line_number,
        l.sku,
        l.quantity,
        l.is_free_sample,
        o.person_id,
        o.order_date,
        o.ship_country_code,
        o.sales_channel,
        o.is_valid_sale,
        (l.line_amount - l.voucher_share) * fx.eur_per_unit AS gross_eur,
        l.voucher_share * fx.eur_per_unit AS voucher_gross_eur
    FROM staging.stg_order_lines AS l
    JOIN staging.stg_orders AS o
        ON o.order_id = l.order_id
    JOIN staging.stg_fx_rates AS fx
        ON fx.currency_code = o.currency_code
       AND fx.rate_date = o.order_date
),
taxed AS (
    SELECT
        c.*,
        -- exports outside the table's countries leave the EU and carry no VAT
        coalesce(v.rate, 0) AS vat_rate
    FROM converted AS c
    LEFT JOIN staging.stg_products AS p
        ON p.sku = c.sku
    LEFT JOIN base.vat_rates AS v
        ON v.country_code = c.ship_country_code
       AND v.vat_class = p.vat_class
       AND c.order_date >= v.valid_from
       AND (v.valid_to IS NULL OR c.order_date <= v.valid_to)
)
SELECT
    order_id,
    line_number,
    sku,
    quantity,
    is_free_sample,
    person_id,
    order_date,
    ship_country_code,
    sales_channel,
    is_valid_sale,
    vat_rate,
    round(gross_eur, 2) AS gross_eur,
    round(gross_eur / (1 + vat_rate), 2) AS net_eur,
    round(gross_eur - gross_eur / (1 + vat_rate), 2) AS vat_eur,
    round(voucher_gross_eur / (1 + vat_rate), 2) AS voucher_eur
FROM taxed;
