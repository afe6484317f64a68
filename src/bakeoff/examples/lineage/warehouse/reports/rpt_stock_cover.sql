-- Reader: purchasing.
CREATE VIEW reports.rpt_stock_cover AS
WITH on_hand AS (
    SELECT sku, sum(closing_balance) AS units
    FROM marts.fct_stock_daily
    WHERE stock_date = current_date
    GROUP BY sku
),
demand AS (
    SELECT
        sku,
        -- recent weeks weigh double
        (sum(quantity) + coalesce(sum(quantity) FILTER (WHERE order_date > current_date - 28), 0)) / 112.0
            AS units_per_day
    FROM marts.fct_order_lines
    WHERE is_valid_sale
      AND order_date > current_date - 84
    GROUP BY sku
)
SELECT
    p.sku,
    p.product_name,
    p.supplier_name,
    coalesce(h.units, 0) AS units_on_hand,
    d.units_per_day,
    coalesce(h.units, 0) / nullif(d.units_per_day, 0) AS days_of_cover,
    p.lead_time_days,
    coalesce(h.units, 0) < d.units_per_day * (p.lead_time_days + 7) AS must_reorder,
    greatest(
        p.minimum_order_quantity,
        ceil(d.units_per_day * (p.lead_time_days + 30) - coalesce(h.units, 0))
    ) AS suggested_quantity
FROM marts.dim_products AS p
JOIN demand AS d
    ON d.sku = p.sku
LEFT JOIN on_hand AS h
    ON h.sku = p.sku
WHERE p.life_stage IN ('new', 'core')
  AND NOT p.is_bundle
ORDER BY days_of_cover NULLS LAST;
