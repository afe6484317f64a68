CREATE VIEW staging.stg_customers AS
WITH ranked AS (
    SELECT
        i.person_id,
        i.email_key,
        c.full_name,
        upper(c.country_code) AS country_code,
        c.language,
        c.marketing_opt_in,
        coalesce(c.loyalty_tier, 'none') AS loyalty_tier,
        c.signup_source,
        c.deleted_at,
        min(c.created_at) OVER (PARTITION BY i.person_id) AS first_seen_at,
        count(*) OVER (PARTITION BY i.person_id) AS account_count,
        row_number() OVER (
            PARTITION BY i.person_id
            ORDER BY c.updated_at DESC, c.customer_id DESC
        ) AS recency
    FROM base.customers AS c
    JOIN staging.stg_customer_identity AS i
        ON i.account_id = c.customer_id
)
SELECT
    person_id,
    email_key,
    -- erased people keep their key, nothing else
    CASE WHEN deleted_at IS NULL THEN full_name END AS full_name,
    country_code,
    language,
    marketing_opt_in AND deleted_at IS NULL AS marketing_opt_in,
    loyalty_tier,
    signup_source,
    first_seen_at,
    account_count
FROM ranked
WHERE recency = 1;
