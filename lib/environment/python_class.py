"""Answers the lines of an environment program (environment/command.h) with a class of the user's, by Gymnasium's names: FILE CLASS.

  CLASS(**config)           made once; a config's values that are JSON (4, true) are what they mean there
  reset(seed=seed)          -> observation, or (observation, info)
  step(action)              -> (observation, reward, terminated, truncated, info), or (observation, reward, done, info)
  close(), instruction      may be there: called at the end; said before each first observation

The action is the model's message. Where the class has an action_space with n actions, it is the last whole number in the message; a message without
a valid one is no step. info may say "success" and "valid". An observation that is no text is shown as str() writes it."""
import re


def meant(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


class Player:
    def __init__(self, make):
        self.make, self.made, self.shown = make, None, ""

    def show(self, observation):
        self.shown = observation if isinstance(observation, str) else str(observation)
        return self.shown

    def reset(self, asked):
        if self.made is None:
            self.made = self.make(**{key: meant(value) for key, value in asked["config"].items()})
        given = self.made.reset(seed=asked["seed"])
        observation = self.show(given[0] if isinstance(given, tuple) else given)
        return {"instruction": str(getattr(self.made, "instruction", None) or ""), "observation": observation}

    def action(self, message):
        space = getattr(self.made, "action_space", None)
        if not hasattr(space, "n"):
            return message
        first = int(getattr(space, "start", 0))
        numbers = [int(number) for number in re.findall(r"-?[0-9]{1,9}", message)][-1:]
        return numbers[0] if numbers and first <= numbers[0] < first + int(space.n) else None

    def step(self, asked):
        action = self.action(asked["message"])
        if action is None:
            return {"observation": self.shown, "reward": 0.0, "done": False, "valid": False}
        observation, reward, *done, info = self.made.step(action)
        known = {key: bool(info[key]) for key in ("success", "valid") if key in (info or {})}
        return {"observation": self.show(observation), "reward": float(reward), "done": any(bool(one) for one in done)} | known

    def close(self, _):
        return {}


def main():
    source, name = sys.argv[1:]
    answer = take_output()
    player = Player(load(source, name))
    for line in sys.stdin:
        asked = json.loads(line)
        answer({"id": asked["id"]} | {"reset": player.reset, "step": player.step, "close": player.close}[asked["method"]](asked))
    if hasattr(player.made, "close"):
        player.made.close()


main()
