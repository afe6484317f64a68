CREATE TABLE marts.fct_deliveries AS
WITH working_days AS (
    SELECT
        calendar_date,
        sum(CASE WHEN is_business_day THEN 1 ELSE 0 END) OVER (ORDER BY calendar_date) AS day_number
    FROM base.calendar
),
promised AS (
    SELECT
        s.*,
        o.ship_country_code,
        o.person_id,
        p.promised_days,
        p.penalty_eur
    FROM staging.stg_shipments AS s
    JOIN staging.stg_orders AS o
        ON o.order_id = s.order_id
    LEFT JOIN base.carrier_promises AS p
        ON lower(p.carrier) = s.carrier
       AND p.service_level = s.service_level
       AND p.country_code = o.ship_country_code
       AND s.due_out_on >= p.valid_from
       AND (p.valid_to IS NULL OR s.due_out_on <= p.valid_to)
)
SELECT
    d.shipment_id,
    d.order_id,
    d.person_id,
    d.warehouse_name,
    d.carrier,
    d.service_level,
    d.ship_country_code,
    d.carrier_cost_eur,
    d.due_out_on,
    d.handed_over_on,
    d.delivered_on,
    d.is_failed,
    arrived.day_number - sent.day_number AS days_under_way,
    d.promised_days,
    coalesce(arrived.day_number - sent.day_number > d.promised_days, FALSE) AS is_late,
    CASE
        WHEN arrived.day_number - sent.day_number > d.promised_days THEN d.penalty_eur
        ELSE 0
    END AS claimable_eur,
    -- the site, not the carrier, is to blame when the parcel left after its day
    d.handed_over_on > d.due_out_on AS left_late
FROM promised AS d
LEFT JOIN working_days AS sent
    ON sent.calendar_date = d.due_out_on
LEFT JOIN working_days AS arrived
    ON arrived.calendar_date = d.delivered_on;
