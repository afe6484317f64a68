CREATE VIEW staging.stg_shipments AS
WITH localised AS (
    SELECT
        s.shipment_id,
        s.order_id,
        s.warehouse_id,
        w.warehouse_name,
        w.cutoff_time,
        lower(s.carrier) AS carrier,
        s.service_level,
        s.carrier_cost_eur,
        timezone(w.time_zone, timezone('UTC', s.label_created_at)) AS label_local,
        timezone(w.time_zone, timezone('UTC', s.handed_over_at)) AS handed_over_local,
        timezone(w.time_zone, timezone('UTC', s.delivered_at)) AS delivered_local,
        s.lost_at IS NOT NULL OR s.returned_to_sender AS is_failed
    FROM base.shipments AS s
    JOIN base.warehouses AS w
        ON w.warehouse_id = s.warehouse_id
)
SELECT
    shipment_id,
    order_id,
    warehouse_id,
    warehouse_name,
    carrier,
    service_level,
    carrier_cost_eur,
    CAST(label_local AS DATE)
        + CASE WHEN CAST(label_local AS TIME) > cutoff_time THEN 1 ELSE 0 END AS due_out_on,
    CAST(handed_over_local AS DATE) AS handed_over_on,
    CAST(delivered_local AS DATE) AS delivered_on,
    is_failed
FROM localised;
