import { describe, expect, it } from "vitest";
import { type Mentionable, composeBody, isWebAddress, mentionQuery, suggested } from "../src/composed_body";

const ada: Mentionable = { id: "a", kind: "user", label: "Ada" };
const byron: Mentionable = { id: "b", kind: "user", label: "Ada Byron" };
const crew: Mentionable = { id: "r", kind: "role", label: "Crew" };
const everyone: Mentionable = { id: "@everyone", kind: "broadcast", label: "everyone" };

it("addresses become links, whole and without what ends the sentence", () => {
  expect(composeBody("see https://a.example/x?a=1&b=2, or <b>", [])).toEqual({
    message: 'see <a href="https://a.example/x?a=1&amp;b=2">https://a.example/x?a=1&amp;b=2</a>, or &lt;b&gt;',
    format: "Html",
  });
  expect(composeBody("https://a.example/@Ada", [{ id: "u", kind: "user", label: "Ada" }]).message).toBe('<a href="https://a.example/@Ada">https://a.example/@Ada</a>');
  expect(composeBody("ftp://a.example", [])).toEqual({ message: "ftp://a.example", format: "Text" });
  expect([isWebAddress("https://a.example/x"), isWebAddress("https://a.example/x."), isWebAddress("x")]).toEqual([true, false, false]);
});

describe("a body", () => {
  it("without mentions or emoji is sent as it was typed", () => {
    expect(composeBody("a <b> & c", [ada], [{ emojiId: "e", name: "duck" }])).toEqual({ message: "a <b> & c", format: "Text" });
  });

  it("with a mention keeps everything else as text", () => {
    expect(composeBody('<i>"x" & @Ada\nbye', [ada])).toEqual({
      message: '&lt;i&gt;"x" &amp; <span data-type="mention" data-id="a" data-mention-type="user" data-label="Ada">@Ada</span><br>bye',
      format: "Html",
    });
  });

  it("takes the longest name that fits", () => {
    expect(composeBody("@Ada Byron and @Ada", [ada, byron]).message).toBe(
      '<span data-type="mention" data-id="b" data-mention-type="user" data-label="Ada Byron">@Ada Byron</span> and <span data-type="mention" data-id="a" data-mention-type="user" data-label="Ada">@Ada</span>',
    );
  });

  it.each(["mail@Ada", "@Adams", "@ada"])("leaves %s alone", (text) => {
    expect(composeBody(text, [ada]).format).toBe("Text");
  });

  it("names roles as such, and everybody without a kind", () => {
    expect(composeBody("@Crew", [crew]).message).toBe('<span data-type="mention" data-id="r" data-mention-type="role" data-label="Crew">@Crew</span>');
    expect(composeBody("@everyone!", [everyone]).message).toBe('<span data-type="mention" data-id="@everyone" data-label="everyone">@everyone</span>!');
  });

  it("a name that looks like markup stays a name", () => {
    const { message } = composeBody('@"><b>x', [{ id: "x", kind: "user", label: '"><b>x' }]);
    expect(message).toBe('<span data-type="mention" data-id="x" data-mention-type="user" data-label="&quot;&gt;&lt;b&gt;x">@"&gt;&lt;b&gt;x</span>');
  });

  it("has the room's emoji by name", () => {
    expect(composeBody("a :duck: b :goose:", [], [{ emojiId: "e", name: "duck" }]).message).toBe(
      'a <span data-custom-emoji-id="e" data-custom-emoji-name="duck">:duck:</span> b :goose:',
    );
  });
});

describe("suggestions", () => {
  it.each([
    ["@", 1, { from: 0, query: "" }],
    ["hey @bo", 7, { from: 4, query: "bo" }],
    ["(@bo later", 4, { from: 1, query: "bo" }],
    ["@Ada By", 7, { from: 0, query: "Ada By" }],
    ["mail@bo", 7, undefined],
    ["@ bo", 4, undefined],
    ["@bo\nx", 5, undefined],
  ])("%j with the cursor at %i", (text, cursor, expected) => {
    expect(mentionQuery(text, cursor)).toEqual(expected);
  });

  it("find the beginnings of names and of their words, whole names first", () => {
    const all = ["Bob", "Ada Byron", "Charles Babbage", "Abby"].map((label): Mentionable => ({ id: label, kind: "user", label }));
    expect(suggested(all, "b", 9).map(({ label }) => label)).toEqual(["Bob", "Ada Byron", "Charles Babbage"]);
    expect(suggested(all, "", 2)).toHaveLength(2);
  });
});
