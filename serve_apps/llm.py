"""An OpenAI-compatible service on Ray Serve and vLLM whose ingress chooses the model of each request.

Ray Serve calls `build` with the arguments that `orchestrator.runtime.serve_config.render` put into its configuration.
"""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any

from fastapi import FastAPI, Request
from ray import serve
from ray.llm._internal.serve.core.configs.openai_api_models import ModelCard, ModelList, to_model_metadata
from ray.serve import Application
from ray.serve.handle import DeploymentHandle
from ray.serve.llm import LLMConfig, build_llm_deployment
from ray.serve.llm.ingress import OpenAiIngress, make_fastapi_ingress
from ray.serve.llm.openai_api_models import ChatCompletionRequest, CompletionRequest
from starlette.responses import JSONResponse, Response
from tokenizers import Tokenizer

from orchestrator.policy.route import AUTO, RouteDecision, RouteTable, UnknownModel, decide
from orchestrator.runtime import model_source, storage
from serve_apps.routing import apply_limit, not_found, route_request, route_table
from serve_apps.server import ModelServer

MODEL_HEADER = "x-orchestrator-model"
ROUTE_HEADER = "x-orchestrator-route"

Body = ChatCompletionRequest | CompletionRequest
Handler = Callable[[Any, Request], Awaitable[Response]]


class RoutingIngress(OpenAiIngress):
    """Ray's OpenAI ingress, with the catalog's rules in front: it rewrites `model` and the token limit of a request.

    `service` holds name, parts, contexts, aliases, routes and the tokenizer's folder (see `serve_config.render`). Where
    tokens count, that tokenizer counts them in the prompt's text, without the chat template; it is loaded then.
    """

    def __init__(
        self,
        llm_deployments: dict[str, DeploymentHandle],
        model_cards: dict[str, ModelCard],
        *,
        service: dict[str, Any],
    ) -> None:
        super().__init__(llm_deployments, model_cards)
        self._service = service
        self._table: RouteTable = route_table(service)

    async def model(self, model_id: str) -> ModelCard | None:
        """Card of one model; "auto" is one, the service itself."""
        if model_id == AUTO:
            return ModelCard(
                id=AUTO,
                object="model",
                owned_by=self._service["name"],
                permission=[],
                metadata={"chooses_from": list(self._table.parts)},
            )
        return await super().model(model_id)

    async def models(self) -> ModelList:
        """All models, and "auto", by which the service's rules choose."""
        listed = await super().models()
        auto = await self.model(AUTO)
        return ModelList(data=[*listed.data, auto])

    async def chat(self, body: ChatCompletionRequest, request: Request) -> Response:
        """Answer a chat with the model that the rules choose."""
        return await self._routed(body, request, super().chat)

    async def completions(self, body: CompletionRequest, request: Request) -> Response:
        """Complete a text with the model that the rules choose."""
        return await self._routed(body, request, super().completions)

    async def _routed(self, body: Body, request: Request, answer: Handler) -> Response:
        decision = self._decide(body, request)
        if isinstance(decision, UnknownModel):
            return JSONResponse(status_code=404, content=not_found(decision))
        body.model = decision.part
        context = self._service["contexts"][decision.part]
        apply_limit(body, decision.max_tokens, context=context, count_tokens=self._count_tokens)
        response = await answer(body, request)
        response.headers[MODEL_HEADER] = decision.part
        response.headers[ROUTE_HEADER] = decision.rule
        return response

    def _decide(self, body: Body, request: Request) -> RouteDecision | UnknownModel:
        seen = route_request(
            body,
            path=request.scope["path"].removeprefix(request.scope.get("root_path", "")),
            service=self._service["name"],
            headers=tuple(request.headers.items()),
            count_tokens=self._count_tokens if self._table.needs_tokens else None,
        )
        return decide(self._table, seen)

    def _count_tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        folder = storage.fetch_folder(self._service["tokenizer"], model_source.cache_dir())
        return Tokenizer.from_file(str(folder / "tokenizer.json"))


def _anywhere(method: str, path: str) -> Callable[[FastAPI], Callable[[Any], Any]]:
    """Serve an endpoint at its OpenAI path and below any prefix, so that `/NAME/v1` and URL rules work."""

    def at_both(app: FastAPI) -> Callable[[Any], Any]:
        register = getattr(app, method)

        def decorate(handler: Any) -> Any:
            register("/{prefix:path}" + path)(handler)
            return register(path)(handler)

        return decorate

    return at_both


ENDPOINTS = {
    "models": _anywhere("get", "/v1/models"),
    "model_data": _anywhere("get", "/v1/models/{model:path}"),
    "completions": _anywhere("post", "/v1/completions"),
    "chat": _anywhere("post", "/v1/chat/completions"),
}


def build(args: dict[str, Any]) -> Application:
    """The application of one service: a deployment per model behind one routing ingress."""
    configs = [LLMConfig.model_validate(config) for config in args["llm_configs"]]
    service = args["service"]
    cards = {config.model_id: to_model_metadata(config.model_id, config) for config in configs}
    for alias, part in service["aliases"].items():
        cards[part].metadata["model_card"] = alias
    ingress = make_fastapi_ingress(RoutingIngress, endpoint_map=ENDPOINTS)
    return serve.deployment(ingress, name="OpenAiIngress", **args["ingress"]).bind(
        llm_deployments={config.model_id: _deployment(config) for config in configs},
        model_cards=cards,
        service=service,
    )


def _deployment(config: LLMConfig) -> Application:
    return build_llm_deployment(config, deployment_cls=ModelServer, name_prefix="LLMServer:")
