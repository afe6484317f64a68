-- Grain: person and version. Join on person_id and a date between
-- valid_from (included) and valid_to (excluded), or on is_current.
CREATE TABLE marts.dim_customers AS
WITH moments AS (
    SELECT person_id, first_seen_at AS valid_from
    FROM staging.stg_customers
    UNION
    SELECT h.person_id, h.changed_at
    FROM staging.stg_customer_changes AS h
    JOIN staging.stg_customers AS c
        ON c.person_id = h.person_id
       AND h.changed_at > c.first_seen_at
),
as_known AS (
    SELECT
        m.person_id,
        m.valid_from,
        arg_max(h.new_value, h.changed_at) FILTER (WHERE h.field_name = 'country_code') AS country_code,
        arg_max(h.new_value, h.changed_at) FILTER (WHERE h.field_name = 'loyalty_tier') AS loyalty_tier,
        arg_max(h.new_value, h.changed_at) FILTER (WHERE h.field_name = 'marketing_opt_in') AS opt_in
    FROM moments AS m
    LEFT JOIN staging.stg_customer_changes AS h
        ON h.person_id = m.person_id
       AND h.changed_at <= m.valid_from
    GROUP BY m.person_id, m.valid_from
),
bounded AS (
    SELECT
        *,
        lead(valid_from) OVER (PARTITION BY person_id ORDER BY valid_from) AS valid_to,
        row_number() OVER (PARTITION BY person_id ORDER BY valid_from) AS version
    FROM as_known
)
SELECT
    md5(CAST(b.person_id AS VARCHAR) || '|' || CAST(b.version AS VARCHAR)) AS customer_key,
    b.person_id,
    b.version,
    c.email_key,
    c.full_name,
    coalesce(b.country_code, c.country_code) AS country_code,
    coalesce(b.loyalty_tier, c.loyalty_tier) AS loyalty_tier,
    coalesce(b.opt_in = 'true', c.marketing_opt_in) AS marketing_opt_in,
    b.valid_from,
    coalesce(b.valid_to, TIMESTAMP '9999-12-31 00:00:00') AS valid_to,
    b.valid_to IS NULL AS is_current
FROM bounded AS b
JOIN staging.stg_customers AS c
    ON c.person_id = b.person_id;
