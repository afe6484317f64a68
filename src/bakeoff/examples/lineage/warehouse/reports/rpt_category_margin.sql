CREATE VIEW reports.rpt_category_margin AS
SELECT
    date_trunc('quarter', m.order_date) AS quarter_start,
    coalesce(p.department, 'all departments') AS department,
    coalesce(p.brand, 'all brands') AS brand,
    sum(m.quantity) AS units,
    sum(m.net_eur) AS net_eur,
    sum(m.cost_eur) AS cost_eur,
    sum(m.margin_eur) AS margin_eur,
    sum(m.margin_eur) / nullif(sum(m.net_eur) FILTER (WHERE NOT m.is_cost_missing), 0) AS margin_ratio,
    sum(m.net_eur) FILTER (WHERE m.is_cost_missing) AS uncosted_eur,
    grouping(p.department, p.brand) AS subtotal_level
FROM marts.fct_line_margin AS m
JOIN marts.dim_products AS p
    ON p.sku = m.sku
GROUP BY GROUPING SETS (
    (date_trunc('quarter', m.order_date), p.department, p.brand),
    (date_trunc('quarter', m.order_date), p.department),
    (date_trunc('quarter', m.order_date))
)
ORDER BY quarter_start, subtotal_level DESC, margin_eur DESC;
