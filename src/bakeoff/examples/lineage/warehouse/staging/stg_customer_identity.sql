-- Maps every account to the person behind it.
CREATE VIEW staging.stg_customer_identity AS
WITH cleaned AS (
    SELECT
        customer_id,
        -- plus-addressing and upper case are the usual reasons for doubles
        regexp_replace(lower(trim(email)), '\+[^@]*@', '@') AS email_key,
        created_at,
        is_guest
    FROM base.customers
    WHERE NOT is_internal
),
keyed AS (
    SELECT
        customer_id,
        email_key,
        first_value(customer_id) OVER (
            PARTITION BY email_key
            ORDER BY is_guest, created_at, customer_id
        ) AS person_id
    FROM cleaned
)
SELECT
    customer_id AS account_id,
    person_id,
    email_key,
    customer_id = person_id AS is_primary_account
FROM keyed;
