-- Journal of the warehouse management system. Quantities are always positive,
-- the type says in which direction they go.
CREATE TABLE base.stock_movements (
    movement_id      BIGINT PRIMARY KEY,
    warehouse_id     SMALLINT NOT NULL,
    sku              VARCHAR NOT NULL,
    movement_type    VARCHAR NOT NULL
        CHECK (movement_type IN (
            'goods_in', 'pick', 'customer_return', 'scrap',
            'transfer_out', 'transfer_in', 'count_plus', 'count_minus'
        )),
    quantity         INTEGER NOT NULL CHECK (quantity > 0),
    unit_cost_eur    DECIMAL(12, 4),        -- known for goods_in only
    lot_number       VARCHAR,
    best_before      DATE,
    reference        VARCHAR,
    operator_id      INTEGER,
    moved_at         TIMESTAMP NOT NULL
);
