schemas = [
    {
        "name": "calculate",
        "description": "Вычисляет арифметическое выражение и возвращает число. Нужна для любого "
        "вычисления, даже простого. Понимает скобки и + - * / **; слов и знака процента не понимает.",
        "parameters": {
            "type": "object",
            "properties": {
                "expression": {"type": "string", "description": "Выражение, например 240 * 15 / 100"}
            },
            "required": ["expression"],
            "additionalProperties": False,
        },
    },
    {
        "name": "get_exchange_rate",
        "description": "Возвращает последний курс: сколько единиц quote стоит одна единица base, и его "
        "дату. Нужна для любого пересчёта валют: курсы в памяти устарели. Суммы не пересчитывает.",
        "parameters": {
            "type": "object",
            "properties": {
                "base": {"type": "string", "description": "Валюта, которую оценивают, код ISO 4217: USD"},
                "quote": {"type": "string", "description": "Валюта, в которой цена, код ISO 4217: EUR"},
            },
            "required": ["base", "quote"],
            "additionalProperties": False,
        },
    },
    {
        "name": "get_time",
        "description": "Возвращает местное время и день недели в одном часовом поясе. Для нескольких "
        "городов её вызывают по разу на каждый.",
        "parameters": {
            "type": "object",
            "properties": {
                "timezone": {"type": "string", "description": "Часовой пояс IANA, Область/Город: Asia/Tokyo"}
            },
            "required": ["timezone"],
            "additionalProperties": False,
        },
    },
]
