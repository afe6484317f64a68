CREATE TABLE marts.fct_line_margin AS
WITH costed AS (
    SELECT
        l.order_id,
        l.line_number,
        l.sku,
        l.order_date,
        l.ship_country_code,
        l.quantity,
        l.net_eur,
        k.supplier_id,
        k.landed_cost_eur
    FROM marts.fct_order_lines AS l
    LEFT JOIN staging.stg_supplier_costs AS k
        ON k.sku = l.sku
       AND l.order_date >= k.valid_from
       AND l.order_date < k.valid_before
    WHERE l.is_valid_sale
    QUALIFY row_number() OVER (
        PARTITION BY l.order_id, l.line_number
        ORDER BY k.is_preferred DESC NULLS LAST, k.landed_cost_eur
    ) = 1
)
SELECT
    order_id,
    line_number,
    sku,
    order_date,
    ship_country_code,
    supplier_id,
    quantity,
    net_eur,
    round(quantity * landed_cost_eur, 2) AS cost_eur,
    round(net_eur - quantity * landed_cost_eur, 2) AS margin_eur,
    CASE
        WHEN net_eur > 0 THEN (net_eur - quantity * landed_cost_eur) / net_eur
    END AS margin_ratio,
    landed_cost_eur IS NULL AS is_cost_missing
FROM costed;
