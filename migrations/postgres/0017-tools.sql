-- Every method, and tools of MCP servers: two tools of one server are two endpoints.
ALTER TABLE endpoints
  -- Empty for what is no tool.
  ADD COLUMN tool_name TEXT COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN transport TEXT,
  DROP CONSTRAINT endpoints_method_check,
  ADD CONSTRAINT endpoints_method_check
    CHECK (method IN ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'MCP')),
  ADD CONSTRAINT endpoints_tool_check CHECK ((method = 'MCP') = (tool_name <> '')),
  DROP CONSTRAINT endpoints_merchant_id_url_method_key,
  ADD CONSTRAINT endpoints_merchant_id_target_key UNIQUE (merchant_id, url, method, tool_name);

DROP INDEX endpoints_url;
CREATE INDEX endpoints_url ON endpoints (url, method, tool_name);
