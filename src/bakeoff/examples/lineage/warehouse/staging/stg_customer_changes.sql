-- Grain: person, attribute, moment. Only the attributes whose history we keep.
CREATE VIEW staging.stg_customer_changes AS
WITH tracked AS (
    SELECT
        i.person_id,
        h.field_name,
        h.changed_at,
        h.log_position,
        nullif(trim(h.old_value), '') AS old_value,
        nullif(trim(h.new_value), '') AS new_value
    FROM base.customer_changes AS h
    JOIN staging.stg_customer_identity AS i
        ON i.account_id = h.customer_id
    WHERE h.field_name IN ('country_code', 'loyalty_tier', 'marketing_opt_in')
      AND h.changed_by <> 'import'
)
SELECT
    person_id,
    field_name,
    changed_at,
    CASE field_name
        WHEN 'country_code' THEN upper(new_value)
        WHEN 'marketing_opt_in' THEN
            CASE WHEN lower(new_value) IN ('1', 't', 'true', 'yes') THEN 'true' ELSE 'false' END
        ELSE lower(new_value)
    END AS new_value
FROM tracked
WHERE old_value IS DISTINCT FROM new_value
QUALIFY row_number() OVER (
    PARTITION BY person_id, field_name, changed_at
    ORDER BY log_position DESC
) = 1;
