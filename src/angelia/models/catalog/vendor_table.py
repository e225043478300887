"""The vendors of models that are known, one row each.

A row of your own goes into the config file under [vendors.NAME] and is laid over these.

wire          openai-chat | openai-responses | anthropic | pydantic-ai | local
base_url      where the wire's paths are appended; base_url_env names variables that go before it
key_env       variables that may hold the key; NAME_2, NAME_3 … continue the pool
local         runs on a machine of yours: no key is needed, nothing is paid
prices        the vendor's name in genai-prices; "" if nobody knows
body_limit    bytes of one request; 0 if unknown
image_limits  see core/profile.py: bytes of one picture, pixels of its longer edge, how many, the token formula
cache_marks   explicit prompt-cache marks that the wire allows; 0 where caching is automatic
quirks        what this vendor does differently:
  max_completion_tokens   the newer name for max_tokens
  reasoning_object        effort as {"reasoning": {"effort": …}}
  reasoning_summary       may be asked for a summary of the reasoning (OpenAI: verified organisations only)
  send_reasoning          wants its reasoning back in the field it came in
  reasoning_on_calls      refuses calls without a reasoning_content, even an empty one
  cache_mark_on_top       one cache_control for the whole request
  no_stream_options       refuses stream_options; counts tokens anyway
  nine_character_ids      takes only nine letters or digits as a call's id
  signature_on_calls      refuses calls without a thought signature, even those of others
  thinking_budget         thinks by a budget of tokens, not by effort
  bearer                  Anthropic's wire with an Authorization header
models        what single models do differently; `match` is a shell pattern, every row that matches counts
"""

from angelia.core.profile import Ability, ImageLimits
from angelia.models.catalog.vendor import ModelRow, Rows, Vendor

YES, NO = Ability.YES, Ability.NO

VENDORS: Rows = {
    one.name: one
    for one in (
        Vendor(
            name="openai",
            wire="openai-responses",
            base_url="https://api.openai.com/v1",
            base_url_env=("OPENAI_BASE_URL",),
            key_env=("OPENAI_API_KEY",),
            prices="openai",
            # developers.openai.com/api/docs/guides/images-vision: 50 MB and 500 pictures a request
            body_limit=50_000_000,
            image_limits=ImageLimits(bytes=20_000_000, long_edge=2048, count=500, tokens="tile"),
            images=YES,
            documents=YES,
            audio=NO,
            tools=YES,
            models=(
                ModelRow("gpt-3.5*", thinking=NO, images=NO, documents=NO),
                ModelRow("gpt-4*", thinking=NO),
                ModelRow("chatgpt-4o*", thinking=NO),
            ),
        ),
        Vendor(
            name="openai-responses",
            wire="openai-responses",
            base_url="https://api.openai.com/v1",
            base_url_env=("OPENAI_BASE_URL",),
            key_env=("OPENAI_API_KEY",),
            image_limits=ImageLimits(long_edge=2048, tokens="tile"),
            models=(
                ModelRow("gpt-4*", thinking=NO),
                ModelRow("chatgpt-4o*", thinking=NO),
            ),
            body_limit=20_000_000,  # nobody knows whose server it is: the least of those that are known
        ),
        Vendor(
            name="openai-chat",
            wire="openai-chat",
            base_url="https://api.openai.com/v1",
            base_url_env=("OPENAI_BASE_URL",),
            key_env=("OPENAI_API_KEY",),
            image_limits=ImageLimits(long_edge=2048, tokens="tile"),
            quirks=("max_completion_tokens",),
            body_limit=20_000_000,  # nobody knows whose server it is: the least of those that are known
        ),
        Vendor(
            name="anthropic",
            wire="anthropic",
            base_url="https://api.anthropic.com",
            base_url_env=("ANTHROPIC_BASE_URL",),
            key_env=("ANTHROPIC_API_KEY",),
            prices="anthropic",
            # platform.claude.com/docs/en/build-with-claude/vision: 32 MB a request, 100 pictures, 5 MB of base64 each
            body_limit=32_000_000,
            image_limits=ImageLimits(bytes=3_900_000, long_edge=1568, count=100, tokens="pixels"),
            images=YES,
            documents=YES,
            audio=NO,
            tools=YES,
            thinking=YES,
            cache_marks=4,
            max_output=32_000,
            models=(
                ModelRow("claude-3*", max_output=4096, quirks=("thinking_budget",)),
                ModelRow("claude-3-[57]*", max_output=8192),
                ModelRow("claude-*-4-5*", quirks=("thinking_budget",)),
                ModelRow("claude-*-4-[0-1]*", quirks=("thinking_budget",)),
                ModelRow("claude-*-4-20*", quirks=("thinking_budget",)),
            ),
        ),
        Vendor(
            name="openrouter",
            wire="openai-chat",
            base_url="https://openrouter.ai/api/v1",
            base_url_env=("OPENROUTER_BASE_URL",),
            key_env=("OPENROUTER_API_KEY",),
            prices="openrouter",
            image_limits=ImageLimits(bytes=3_900_000, long_edge=1568),
            quirks=("reasoning_object", "send_reasoning"),
            models=(ModelRow("anthropic/*", images=YES, quirks=("cache_mark_on_top",)),),
        ),
        Vendor(
            name="gemini",
            wire="openai-chat",
            base_url="https://generativelanguage.googleapis.com/v1beta/openai",
            base_url_env=("GEMINI_BASE_URL",),
            key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            prices="google",
            # ai.google.dev/gemini-api/docs/image-understanding: 20 MB a request with inline data
            body_limit=20_000_000,
            image_limits=ImageLimits(long_edge=3072, count=3600),
            quirks=("signature_on_calls",),
            images=YES,
            tools=YES,
        ),
        Vendor(
            name="groq",
            wire="openai-chat",
            base_url="https://api.groq.com/openai/v1",
            base_url_env=("GROQ_BASE_URL",),
            key_env=("GROQ_API_KEY",),
            prices="groq",
            # console.groq.com/docs/vision: 4 MB of base64 a request, 5 pictures
            image_limits=ImageLimits(bytes=3_000_000, long_edge=2048, count=5),
        ),
        Vendor(
            name="mistral",
            wire="openai-chat",
            base_url="https://api.mistral.ai/v1",
            base_url_env=("MISTRAL_BASE_URL",),
            key_env=("MISTRAL_API_KEY",),
            prices="mistral",
            # docs.mistral.ai/capabilities/vision: 10 MB a picture, 8 pictures
            image_limits=ImageLimits(bytes=10_000_000, long_edge=1540, count=8),
            quirks=("no_stream_options", "nine_character_ids"),
        ),
        Vendor(
            name="deepseek",
            wire="openai-chat",
            base_url="https://api.deepseek.com",
            base_url_env=("DEEPSEEK_BASE_URL",),
            key_env=("DEEPSEEK_API_KEY",),
            prices="deepseek",
            quirks=("send_reasoning", "reasoning_on_calls"),
            tools=YES,
        ),
        Vendor(
            name="xai",
            wire="openai-chat",
            base_url="https://api.x.ai/v1",
            base_url_env=("XAI_BASE_URL",),
            key_env=("XAI_API_KEY",),
            prices="x-ai",
            image_limits=ImageLimits(bytes=20_000_000, long_edge=2048),
            tools=YES,
        ),
        Vendor(
            name="together",
            wire="openai-chat",
            base_url="https://api.together.xyz/v1",
            base_url_env=("TOGETHER_BASE_URL",),
            key_env=("TOGETHER_API_KEY",),
            prices="together",
            image_limits=ImageLimits(long_edge=2048),
        ),
        Vendor(
            name="fireworks",
            wire="openai-chat",
            base_url="https://api.fireworks.ai/inference/v1",
            base_url_env=("FIREWORKS_BASE_URL",),
            key_env=("FIREWORKS_API_KEY",),
            prices="fireworks",
            # docs.fireworks.ai, "Querying vision-language models": 10 MB of base64 a request, 30 pictures
            image_limits=ImageLimits(bytes=7_000_000, long_edge=2048, count=30),
        ),
        Vendor(
            name="cerebras",
            wire="openai-chat",
            base_url="https://api.cerebras.ai/v1",
            base_url_env=("CEREBRAS_BASE_URL",),
            key_env=("CEREBRAS_API_KEY",),
            prices="cerebras",
        ),
        Vendor(
            name="moonshot",
            wire="openai-chat",
            base_url="https://api.moonshot.ai/v1",
            base_url_env=("MOONSHOT_BASE_URL", "MOONSHOTAI_BASE_URL"),
            key_env=("MOONSHOT_API_KEY", "MOONSHOTAI_API_KEY"),
            prices="moonshotai",
            quirks=("send_reasoning",),
        ),
        Vendor(
            name="zai",
            wire="openai-chat",
            base_url="https://api.z.ai/api/paas/v4",
            base_url_env=("ZAI_BASE_URL",),
            key_env=("ZAI_API_KEY",),
            prices="zai",
            quirks=("send_reasoning",),
        ),
        Vendor(
            name="ollama",
            wire="openai-chat",
            base_url="http://127.0.0.1:11434/v1",
            base_url_env=("OLLAMA_BASE_URL", "OLLAMA_HOST"),
            key_env=("OLLAMA_API_KEY",),
            local=True,
        ),
        Vendor(
            name="lmstudio",
            wire="openai-chat",
            base_url="http://127.0.0.1:1234/v1",
            base_url_env=("LMSTUDIO_BASE_URL",),
            key_env=("LMSTUDIO_API_KEY",),
            local=True,
        ),
        Vendor(
            name="llamacpp",
            wire="openai-chat",
            base_url="http://127.0.0.1:8080/v1",
            base_url_env=("LLAMACPP_BASE_URL",),
            key_env=("LLAMA_API_KEY",),
            local=True,
            quirks=("send_reasoning",),
        ),
        Vendor(
            name="vllm",
            wire="openai-chat",
            base_url="http://127.0.0.1:8000/v1",
            base_url_env=("VLLM_BASE_URL",),
            key_env=("VLLM_API_KEY",),
            local=True,
        ),
        Vendor(
            name="local",
            wire="local",
            local=True,
            images=NO,
            documents=NO,
            audio=NO,
            thinking=NO,
        ),
        Vendor(
            name="pydantic-ai",
            wire="pydantic-ai",
        ),
    )
}
"""Those with models to talk with."""

SPEECH_VENDORS: Rows = {
    "elevenlabs": Vendor(
        name="elevenlabs",
        wire="elevenlabs",
        base_url="https://api.elevenlabs.io/v1",
        base_url_env=("ELEVENLABS_BASE_URL",),
        key_env=("ELEVENLABS_API_KEY",),
    )
}
"""Vendors that speak and have no models to talk with; a row of the user's is laid over them by its name."""


PICTURE_VENDORS: Rows = {
    one.name: one
    for one in (
        Vendor(
            name="fal",
            wire="fal",
            base_url="https://queue.fal.run",
            base_url_env=("FAL_BASE_URL",),
            key_env=("FAL_KEY",),
        ),
        Vendor(
            name="replicate",
            wire="replicate",
            base_url="https://api.replicate.com/v1",
            base_url_env=("REPLICATE_BASE_URL",),
            key_env=("REPLICATE_API_TOKEN",),
        ),
        Vendor(
            name="comfyui",
            wire="comfyui",
            base_url="http://127.0.0.1:8188",
            base_url_env=("COMFYUI_BASE_URL",),
            local=True,
        ),
    )
}
"""Vendors that make pictures and have no models to talk with; a row of the user's is laid over them by its name."""
