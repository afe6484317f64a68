-- What a unit costs us on our shelf, in euro.
CREATE VIEW staging.stg_supplier_costs AS
WITH priced AS (
    SELECT
        sp.sku,
        sp.supplier_id,
        s.supplier_name,
        s.lead_time_days,
        sp.is_preferred,
        sp.valid_from,
        sp.minimum_order_quantity,
        (sp.unit_cost * (1 + sp.customs_duty_rate) + sp.freight_per_unit)
            * fx.eur_per_unit AS landed_cost_eur
    FROM base.supplier_prices AS sp
    JOIN base.suppliers AS s
        ON s.supplier_id = sp.supplier_id
       AND s.is_active
    JOIN staging.stg_fx_rates AS fx
        ON fx.currency_code = sp.currency_code
       AND fx.rate_date = sp.valid_from
)
SELECT
    sku,
    supplier_id,
    supplier_name,
    lead_time_days,
    is_preferred,
    minimum_order_quantity,
    landed_cost_eur,
    valid_from,
    coalesce(
        lead(valid_from) OVER (PARTITION BY supplier_id, sku ORDER BY valid_from),
        DATE '9999-12-31'
    ) AS valid_before
FROM priced;
