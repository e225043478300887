"""What pictures cost, from genai-prices: tokens of pictures have prices of their own."""

from math import ceil

from angelia.models.pictures.context import PictureTokens


def picture_cost(provider: str, model: str, tokens: PictureTokens) -> int:
    """Millionths of a US dollar, rounded up; -1 if nobody knows. Takes 0.2 s the first time: off the event loop."""
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=tokens.input,
        input_image_tokens=tokens.input_pictures,
        output_tokens=tokens.output,
        output_image_tokens=tokens.output_pictures,
    )
    try:
        price = genai_prices.calc_price(counted, model, provider_id=provider)
    except LookupError:
        return -1
    return ceil(price.total_price * 1_000_000)
