-- Sealed values of earlier versions are bound to no row, and the URLs of webhooks
-- are not sealed; both are put right when the file is opened.
ALTER TABLE service ADD COLUMN sealed_values_bound INTEGER NOT NULL DEFAULT FALSE;
ALTER TABLE webhooks RENAME COLUMN url TO url_sealed;
