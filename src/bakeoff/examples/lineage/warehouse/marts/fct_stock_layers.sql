-- Grain: goods receipt that still has units on the shelf.
CREATE TABLE marts.fct_stock_layers AS
WITH receipts AS (
    SELECT
        warehouse_id,
        sku,
        movement_id,
        movement_date AS received_on,
        best_before,
        unit_cost_eur,
        signed_quantity AS received,
        sum(signed_quantity) OVER (
            PARTITION BY warehouse_id, sku
            ORDER BY moved_at, movement_id
        ) AS received_so_far
    FROM staging.stg_stock_movements
    WHERE is_receipt
),
issues AS (
    SELECT
        warehouse_id,
        sku,
        -sum(signed_quantity) AS consumed
    FROM staging.stg_stock_movements
    WHERE NOT is_receipt
    GROUP BY warehouse_id, sku
),
remaining AS (
    SELECT
        r.*,
        -- what left the shelf eats the oldest deliveries first
        least(
            r.received,
            greatest(r.received_so_far - greatest(coalesce(i.consumed, 0), 0), 0)
        ) AS units_left
    FROM receipts AS r
    LEFT JOIN issues AS i
        ON i.warehouse_id = r.warehouse_id
       AND i.sku = r.sku
)
SELECT
    warehouse_id,
    sku,
    movement_id,
    received_on,
    best_before,
    unit_cost_eur,
    units_left,
    round(units_left * unit_cost_eur, 2) AS value_eur
FROM remaining
WHERE units_left > 0;
