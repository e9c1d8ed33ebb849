import httpx

CURRENCIES = ("USD", "EUR", "GBP", "CHF", "CNY", "JPY", "TRY")


def get_exchange_rate(base: str, quote: str) -> dict:
    """Return the latest exchange rate: how many units of quote one unit of base costs. Converts no amounts.

    Parameters
    ----------
    base
        Currency to be priced, ISO 4217 code, for example USD.
    quote
        Currency of the price, ISO 4217 code, for example EUR.
    """
    for code in (base, quote):
        if code not in CURRENCIES:
            raise ValueError(f"unknown currency {code!r}; use one of {', '.join(CURRENCIES)}")
    response = httpx.get(f"https://api.frankfurter.dev/v2/rate/{base}/{quote}", timeout=10)
    if response.is_error:
        raise ValueError("the rate service does not answer; tell the user and offer to try again later")
    found = response.json()
    return {"base": base, "quote": quote, "rate": found["rate"], "date": found["date"]}
