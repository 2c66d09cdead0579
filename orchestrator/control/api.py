"""The controller's HTTP API, for drivers and the command line, on this machine only and behind a token."""

import hmac
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import TypeAdapter
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from orchestrator.control import views
from orchestrator.control.assign import RefusedError
from orchestrator.control.controller import Controller
from orchestrator.control.planning import CatalogFaultsError
from orchestrator.control.requests import UnknownError, apply_catalog, begin_run, report_event
from orchestrator.control.wire import MAX_BODY_BYTES, CatalogBody, EventBody, RunBody
from orchestrator.ledger.catalogs import CatalogText
from orchestrator.model.assignment import Assignment
from orchestrator.model.error import InputError, OperationError, OrchestratorError

_ASSIGNMENT = TypeAdapter(Assignment)

LOG = logging.getLogger("orchestrator.control")

_TRY = "put that right and try again."

MAX_EVENT_NUMBER = 2**63 - 1
"""SQLite's largest row number."""

STATUS_CODES: tuple[tuple[type[OrchestratorError], int], ...] = (
    (UnknownError, 404),
    (RefusedError, 409),
    (InputError, 422),
    (OperationError, 503),
    (OrchestratorError, 500),
)


def create_app(controller: Controller, token: str) -> FastAPI:
    """The API of a controller. Every path but /healthz wants `Authorization: Bearer TOKEN`."""
    app = FastAPI(title="orchestrator", docs_url=None, redoc_url=None, openapi_url=None)
    _guard(app, token)
    _name_errors(app)
    _add_catalog_and_runs(app, controller)
    _add_views(app, controller)
    return app


def _guard(app: FastAPI, token: str) -> None:
    expected = f"Bearer {token}".encode()

    @app.middleware("http")
    async def guard(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        given = request.headers.get("authorization", "").encode()
        if request.url.path != "/healthz" and not hmac.compare_digest(given, expected):
            return JSONResponse({"error": "missing or wrong token"}, status_code=401)
        length = request.headers.get("content-length", "0" if request.method == "GET" else "")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            return JSONResponse({"error": f"body without length or over {MAX_BODY_BYTES} bytes"}, status_code=413)
        return await call(request)


def _name_errors(app: FastAPI) -> None:
    @app.exception_handler(CatalogFaultsError)
    def faults(_request: Request, error: CatalogFaultsError) -> Response:
        return JSONResponse({"faults": list(error.lines)}, status_code=422)

    @app.exception_handler(OrchestratorError)
    def named(_request: Request, error: OrchestratorError) -> Response:
        code = next(code for kind, code in STATUS_CODES if isinstance(error, kind))
        return JSONResponse({"error": str(error)}, status_code=code)

    @app.exception_handler(OSError)
    def system(_request: Request, error: OSError) -> Response:
        LOG.error("a request failed", exc_info=error)
        where = f" {error.filename}" if error.filename else ""
        what = f"the controller cannot use{where or ' its files'}: {error.strerror or error}; {_TRY}"
        return JSONResponse({"error": what}, status_code=503)

    @app.exception_handler(SQLAlchemyError)
    def database(_request: Request, error: SQLAlchemyError) -> Response:
        LOG.error("a request failed", exc_info=error)
        cause = error.orig if isinstance(error, DBAPIError) else error
        return JSONResponse({"error": f"the ledger did not take the request: {cause}; {_TRY}"}, status_code=503)

    @app.exception_handler(Exception)
    def fault(_request: Request, error: Exception) -> Response:
        # Raised again by the server, which logs it.
        what = f"a fault in the controller ({type(error).__name__}: {error}); its log tells more."
        return JSONResponse({"error": what}, status_code=500)

    @app.exception_handler(RequestValidationError)
    def malformed(_request: Request, error: RequestValidationError) -> Response:
        what = [f"{'.'.join(str(part) for part in one['loc'][1:])}: {one['msg']}" for one in error.errors()]
        return JSONResponse({"error": "; ".join(what)}, status_code=422)


def _add_catalog_and_runs(app: FastAPI, controller: Controller) -> None:
    @app.put("/v1/catalog")
    def put_catalog(body: CatalogBody) -> dict[str, Any]:
        source = CatalogText(text=body.text, file=body.file, base_dir=body.base_dir)
        planned, told = apply_catalog(controller, source)
        return {**planned.plan_json, "changes": list(told)}

    @app.post("/v1/runs")
    def post_run(body: RunBody) -> Response:
        own = None
        if body.catalog_text is not None:
            base_dir = body.base_dir or str(Path.cwd())
            own = CatalogText(text=body.catalog_text, file="catalog", base_dir=base_dir)
        assignment = begin_run(controller, body.job, body.submission_id or "", own, kind=body.kind)
        return Response(_ASSIGNMENT.dump_json(assignment), media_type="application/json")

    @app.post("/v1/runs/{run_id}/events")
    def post_event(run_id: str, body: EventBody) -> dict[str, int]:
        return {"id": report_event(controller, run_id, body.kind, body.message, body.data)}


def _add_views(app: FastAPI, controller: Controller) -> None:
    @app.get("/healthz")
    def healthz() -> dict[str, Any]:
        return {"ok": True, "ticked_at": controller.ticked_at}

    @app.get("/v1/status")
    def status() -> Any:
        return jsonable_encoder(asdict(views.status(controller)))

    @app.get("/v1/events")
    def get_events(
        after: int = Query(default=0, ge=0, le=MAX_EVENT_NUMBER),
        job: str = "",
        limit: int = Query(default=1000, ge=1, le=10_000),
    ) -> Any:
        return views.events_json(controller.database, after, job=job, limit=limit)

    @app.get("/v1/cost")
    def cost() -> Any:
        return views.cost_json(controller.database, controller.clock())
