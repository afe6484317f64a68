CREATE VIEW staging.stg_stock_movements AS
SELECT
    m.movement_id,
    m.warehouse_id,
    m.sku,
    m.movement_type,
    CASE
        WHEN m.movement_type IN ('goods_in', 'customer_return', 'transfer_in', 'count_plus')
            THEN m.quantity
        ELSE -m.quantity
    END AS signed_quantity,
    m.movement_type = 'goods_in' AS is_receipt,
    m.unit_cost_eur,
    m.lot_number,
    m.best_before,
    m.moved_at,
    CAST(m.moved_at AS DATE) AS movement_date
FROM base.stock_movements AS m
JOIN base.warehouses AS w
    ON w.warehouse_id = m.warehouse_id
   -- bookings after a site was shut are corrections of its operator, not goods
   AND (w.closed_on IS NULL OR CAST(m.moved_at AS DATE) <= w.closed_on);
