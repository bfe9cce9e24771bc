// Accounts over HTTP. The session itself is a cookie that scripts cannot read.
import { WireError, noAnswer } from "./wire_error";
import type { User, ProtocolError } from "./wire/generated";

const deadlineMs = 20_000;

async function post<T>(path: string, data: unknown): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(data),
      signal: AbortSignal.timeout(deadlineMs),
    });
  } catch {
    throw noAnswer("the server could not be reached");
  }
  const text = await response.text();
  let body: unknown = {};
  try {
    body = text ? JSON.parse(text) : {};
  } catch {
    throw new WireError({ code: "internal", message: `status ${response.status}` });
  }
  if (!response.ok) {
    const error = body as Partial<ProtocolError>;
    throw new WireError({ ...error, code: error.code ?? "internal", message: error.message ?? "" });
  }
  return body as T;
}

export function register(account: { name: string; password: string; invite?: string }): Promise<{ user: User }> {
  return post("/v1/auth/register", { ...account, cookie: true });
}

export function logIn(account: { name: string; password: string }): Promise<{ user: User }> {
  return post("/v1/auth/login", { ...account, cookie: true });
}

export function logOut(): Promise<unknown> {
  return post("/v1/auth/logout", {});
}

export function refresh(): Promise<unknown> {
  return post("/v1/auth/refresh", {});
}
