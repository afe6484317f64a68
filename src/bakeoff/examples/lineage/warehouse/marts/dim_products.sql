CREATE TABLE marts.dim_products AS
WITH source_now AS (
    SELECT
        sku,
        supplier_id,
        supplier_name,
        lead_time_days,
        minimum_order_quantity,
        landed_cost_eur
    FROM staging.stg_supplier_costs
    WHERE current_date >= valid_from
      AND current_date < valid_before
    QUALIFY row_number() OVER (
        PARTITION BY sku
        ORDER BY is_preferred DESC, landed_cost_eur, supplier_id
    ) = 1
)
SELECT
    p.sku,
    p.product_name,
    p.brand,
    p.department,
    p.category_path,
    p.list_price_eur,
    p.vat_class,
    p.is_perishable,
    p.is_bundle,
    p.life_stage,
    p.billable_weight_grams,
    s.supplier_id,
    coalesce(s.supplier_name, 'no active offer') AS supplier_name,
    s.lead_time_days,
    s.minimum_order_quantity,
    s.landed_cost_eur AS current_cost_eur,
    CASE
        WHEN s.landed_cost_eur IS NULL THEN 'unknown'
        WHEN p.list_price_eur >= 4 * s.landed_cost_eur THEN 'high'
        WHEN p.list_price_eur >= 2 * s.landed_cost_eur THEN 'normal'
        ELSE 'thin'
    END AS markup_band
FROM staging.stg_products AS p
LEFT JOIN source_now AS s
    ON s.sku = p.sku;
