-- Grain: site, article, day. Days without a booking carry the balance on.
CREATE TABLE marts.fct_stock_daily AS
WITH booked AS (
    SELECT
        warehouse_id,
        sku,
        movement_date,
        sum(signed_quantity) AS net_change,
        sum(signed_quantity) FILTER (WHERE movement_type = 'pick') AS picked,
        sum(signed_quantity) FILTER (WHERE movement_type = 'scrap') AS scrapped
    FROM staging.stg_stock_movements
    GROUP BY warehouse_id, sku, movement_date
),
held AS (
    SELECT warehouse_id, sku, min(movement_date) AS first_day
    FROM booked
    GROUP BY warehouse_id, sku
),
days AS (
    SELECT h.warehouse_id, h.sku, c.calendar_date AS stock_date
    FROM held AS h
    JOIN base.calendar AS c
        ON c.calendar_date BETWEEN h.first_day AND current_date
)
SELECT
    d.stock_date,
    d.warehouse_id,
    d.sku,
    coalesce(b.net_change, 0) AS net_change,
    -coalesce(b.picked, 0) AS units_picked,
    -coalesce(b.scrapped, 0) AS units_scrapped,
    sum(coalesce(b.net_change, 0)) OVER (
        PARTITION BY d.warehouse_id, d.sku
        ORDER BY d.stock_date
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS closing_balance
FROM days AS d
LEFT JOIN booked AS b
    ON b.warehouse_id = d.warehouse_id
   AND b.sku = d.sku
   AND b.movement_date = d.stock_date;
