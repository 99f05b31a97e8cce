-- The tool of an MCP server that a payment named.
ALTER TABLE activity ADD COLUMN tool_name TEXT;
