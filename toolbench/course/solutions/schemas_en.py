schemas = [
    {
        "name": "calculate",
        "description": "Evaluates an arithmetic expression and returns a number. Use it for every "
        "calculation, however easy. Knows brackets and + - * / **; no words, no percent sign.",
        "parameters": {
            "type": "object",
            "properties": {
                "expression": {"type": "string", "description": "Expression, for example 240 * 15 / 100"}
            },
            "required": ["expression"],
            "additionalProperties": False,
        },
    },
    {
        "name": "get_exchange_rate",
        "description": "Returns the latest exchange rate: how many units of quote one unit of base costs, "
        "and its date. Always use it for conversions: rates in memory are out of date. Converts no amounts.",
        "parameters": {
            "type": "object",
            "properties": {
                "base": {"type": "string", "description": "Currency to be priced, ISO 4217, such as USD"},
                "quote": {
                    "type": "string",
                    "description": "Currency of the price, ISO 4217, such as EUR",
                },
            },
            "required": ["base", "quote"],
            "additionalProperties": False,
        },
    },
    {
        "name": "get_time",
        "description": "Returns the local time and the day of the week in one time zone. For several cities "
        "call it once for each.",
        "parameters": {
            "type": "object",
            "properties": {
                "timezone": {"type": "string", "description": "IANA time zone Area/City, such as Asia/Tokyo"}
            },
            "required": ["timezone"],
            "additionalProperties": False,
        },
    },
]
