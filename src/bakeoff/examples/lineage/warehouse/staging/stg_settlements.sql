-- Grain: processor reference and payout batch.
CREATE VIEW staging.stg_settlements AS
WITH once AS (
    -- the same file is sometimes delivered again under a new name
    SELECT DISTINCT ON (batch_id, processor_reference, line_type, gross_amount, fee_amount)
        batch_id,
        processor,
        trim(processor_reference) AS processor_reference,
        line_type,
        gross_amount,
        fee_amount,
        net_amount,
        upper(currency_code) AS currency_code,
        settled_on
    FROM base.processor_settlements
    ORDER BY batch_id, processor_reference, line_type, gross_amount, fee_amount, settlement_line_id
)
SELECT
    batch_id,
    processor,
    processor_reference,
    currency_code,
    min(settled_on) AS settled_on,
    sum(CASE WHEN line_type = 'sale' THEN gross_amount ELSE 0 END) AS sale_amount,
    sum(CASE WHEN line_type IN ('refund', 'chargeback') THEN -abs(gross_amount) ELSE 0 END)
        AS returned_amount,
    sum(abs(fee_amount)) AS fee_amount,
    sum(net_amount) AS net_amount
FROM once
WHERE line_type <> 'adjustment'
GROUP BY batch_id, processor, processor_reference, currency_code;
