CREATE VIEW staging.stg_refunds AS
SELECT
    r.refund_id,
    r.order_id,
    r.line_number,
    r.quantity,
    r.reason_code,
    CASE
        WHEN r.reason_code IN ('damaged', 'late') THEN 'logistics'
        WHEN r.reason_code IN ('wrong_item', 'not_as_described') THEN 'catalogue'
        WHEN r.reason_code = 'fraud' THEN 'risk'
        ELSE 'customer'
    END AS responsible_area,
    r.amount,
    upper(r.currency_code) AS currency_code,
    r.goods_returned,
    CAST(r.approved_at AS DATE) AS refund_date,
    date_diff('hour', r.requested_at, r.approved_at) AS hours_to_approve,
    r.approved_by = 'auto-approve' AS is_automatic
FROM base.refunds AS r
WHERE r.approved_at IS NOT NULL
  AND r.rejected_at IS NULL;
