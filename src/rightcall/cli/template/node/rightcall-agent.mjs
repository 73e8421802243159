// The agent, as `rightcall run` asks it: a request on standard input, an answer on standard output.
// Write your agent's call in the place of `ask`. What it prints on standard error is kept with the case.
import { readFileSync } from "node:fs";

const { input } = JSON.parse(readFileSync(0, "utf8"));

async function ask(question) {
  // An SDK that reads OPENAI_BASE_URL, ANTHROPIC_BASE_URL or GOOGLE_GEMINI_BASE_URL is recorded by `run --record`.
  const call = { id: "1", type: "function", function: { name: "get_weather", arguments: '{"city": "Rome"}' } };
  return [
    { role: "user", content: question },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "1", content: "sunny" },
    { role: "assistant", content: "It is sunny in Rome." },
  ];
}

const messages = await ask(input);
console.log(JSON.stringify({ output: messages.at(-1).content, messages }));
