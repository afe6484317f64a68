-- Grain: order position. Amounts still in the currency of the order, VAT included.
CREATE VIEW staging.stg_order_lines AS
WITH priced AS (
    SELECT
        l.order_id,
        l.line_number,
        l.sku,
        l.quantity,
        l.is_free_sample,
        l.quantity * l.unit_price - l.line_discount AS line_amount,
        o.voucher_amount
    FROM base.order_lines AS l
    JOIN staging.stg_orders AS o
        ON o.order_id = l.order_id
    WHERE l.bundle_sku IS NULL
),
shared AS (
    SELECT
        *,
        sum(line_amount) OVER (PARTITION BY order_id) AS order_amount,
        row_number() OVER (
            PARTITION BY order_id ORDER BY line_amount DESC, line_number
        ) AS by_size
    FROM priced
),
rounded AS (
    SELECT
        *,
        CASE
            WHEN order_amount = 0 THEN 0
            ELSE round(voucher_amount * line_amount / order_amount, 2)
        END AS voucher_share
    FROM shared
)
SELECT
    order_id,
    line_number,
    sku,
    quantity,
    is_free_sample,
    line_amount,
    -- cents lost in rounding go to the dearest position
    voucher_share + CASE
        WHEN by_size = 1
            THEN voucher_amount - sum(voucher_share) OVER (PARTITION BY order_id)
        ELSE 0
    END AS voucher_share
FROM rounded;
