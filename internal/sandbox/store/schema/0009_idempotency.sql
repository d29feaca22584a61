ALTER TABLE idempotent_answers RENAME TO idempotent_responses;
ALTER TABLE idempotent_responses RENAME COLUMN answer TO response;
DROP INDEX idempotent_answers_by_age;
CREATE INDEX idempotent_responses_by_age ON idempotent_responses (created_at);
