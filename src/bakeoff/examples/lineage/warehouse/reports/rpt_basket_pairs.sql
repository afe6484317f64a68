-- Feeds the "goes well with" box of the shop.
CREATE VIEW reports.rpt_basket_pairs AS
WITH baskets AS (
    SELECT DISTINCT order_id, sku
    FROM marts.fct_order_lines
    WHERE is_valid_sale
      AND NOT is_free_sample
      AND order_date > current_date - 365
),
popularity AS (
    SELECT sku, count(*) AS in_baskets
    FROM baskets
    GROUP BY sku
),
pairs AS (
    SELECT a.sku AS left_sku, b.sku AS right_sku, count(*) AS together
    FROM baskets AS a
    JOIN baskets AS b
        ON b.order_id = a.order_id
       AND b.sku > a.sku
    GROUP BY a.sku, b.sku
    HAVING count(*) >= 25
),
total AS (
    SELECT count(DISTINCT order_id) AS basket_count
    FROM baskets
)
SELECT
    p.left_sku,
    p.right_sku,
    p.together,
    p.together / l.in_baskets AS confidence,
    p.together * t.basket_count / (l.in_baskets * r.in_baskets) AS lift
FROM pairs AS p
JOIN popularity AS l ON l.sku = p.left_sku
JOIN popularity AS r ON r.sku = p.right_sku
CROSS JOIN total AS t
QUALIFY row_number() OVER (PARTITION BY p.left_sku ORDER BY lift DESC) <= 5;
