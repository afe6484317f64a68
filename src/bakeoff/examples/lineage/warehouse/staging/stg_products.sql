CREATE VIEW staging.stg_products AS
SELECT
    p.sku,
    p.product_name,
    coalesce(nullif(trim(p.brand), ''), 'unbranded') AS brand,
    p.category_id,
    t.root_category_name AS department,
    t.full_path AS category_path,
    p.list_price_eur,
    p.vat_class,
    p.weight_grams,
    -- carriers bill the larger of real and volumetric weight (5000 cm3 per kg)
    greatest(
        coalesce(p.weight_grams, 0),
        coalesce(p.length_mm, 0) * coalesce(p.width_mm, 0) * coalesce(p.height_mm, 0) / 5000.0
    ) AS billable_weight_grams,
    p.shelf_life_days IS NOT NULL AS is_perishable,
    p.is_bundle,
    p.launched_on,
    p.discontinued_on,
    CASE
        WHEN p.discontinued_on IS NOT NULL AND p.discontinued_on <= current_date THEN 'gone'
        WHEN p.launched_on IS NULL OR p.launched_on > current_date THEN 'coming'
        WHEN p.launched_on > current_date - INTERVAL 90 DAY THEN 'new'
        ELSE 'core'
    END AS life_stage
FROM base.products AS p
LEFT JOIN staging.stg_category_paths AS t
    ON t.category_id = p.category_id;
