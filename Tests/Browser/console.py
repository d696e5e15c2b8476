"""The console in a real browser: every page and every act, without JavaScript, by keyboard alone, on a narrow screen.

    console.py PROGRAM [FOLDER FOR PICTURES]

Runs the program against its own simulator, on ports of 127.0.0.1. Needs Debian's chromium-driver and python3-selenium.
"""

import os
import re
import sys
import tempfile
import time

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from site_of_tests import wait_for, Site, TOKEN, TITLE

# What a page must fulfil whatever it shows (after WCAG 2.2): run in the page, returns what is wrong.
RULES = r"""
const wrong = [];
const lum = (c) => { const f = c.map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
  return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
const parse = (s) => s.match(/[\d.]+/g).map(Number);
const back = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
  if (c.length < 4 || c[3] > 0) return c; } return matchMedia('(prefers-color-scheme: dark)').matches ? [20, 23, 26] : [255, 255, 255]; };
for (const e of document.querySelectorAll('body *')) {
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length) continue;
  if (e.closest('svg, .skip, caption')) continue;
  const a = lum(parse(getComputedStyle(e).color).slice(0, 3)), b = lum(back(e).slice(0, 3));
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) wrong.push('contrast ' + ratio.toFixed(2) + ': ' + e.outerHTML.slice(0, 80));
}
for (const e of document.querySelectorAll('input:not([type=hidden]), select, textarea')) {
  if (!e.labels.length && !e.getAttribute('aria-label')) wrong.push('no label: ' + e.outerHTML.slice(0, 80));
}
for (const e of document.querySelectorAll('a, button')) {
  if (!e.textContent.trim() && !e.getAttribute('aria-label')) wrong.push('no name: ' + e.outerHTML.slice(0, 80));
}
for (const e of document.querySelectorAll('svg[role=img]')) if (!e.getAttribute('aria-label')) wrong.push('no text: svg');
const levels = [...document.querySelectorAll('h1, h2, h3, h4')].map((e) => Number(e.tagName[1]));
if (levels.filter((l) => l === 1).length !== 1) wrong.push('not one h1');
levels.forEach((l, i) => { if (i && l > levels[i - 1] + 1) wrong.push('heading level skipped'); });
const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
if (new Set(ids).size !== ids.length) wrong.push('an id twice');
if (!document.documentElement.lang) wrong.push('no language');
if (document.querySelectorAll('main').length !== 1) wrong.push('not one main');
if (document.documentElement.scrollWidth > innerWidth) wrong.push('wider than the screen: ' + document.documentElement.scrollWidth);
return wrong;
"""


def browser(*options, javascript=True, size=(1280, 900), language="en", dark=False):
    settings = webdriver.ChromeOptions()
    for option in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--lang={language}", *options]:
        settings.add_argument(option)
    settings.add_argument(f"--window-size={size[0]},{size[1]}")
    preferences = {"intl.accept_languages": language}
    if not javascript:
        preferences["profile.managed_default_content_settings.javascript"] = 2
    settings.add_experimental_option("prefs", preferences)
    settings.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=settings, service=Service("/usr/bin/chromedriver"))
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 500},
    )
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}
    )
    return driver


class Checks:
    def __init__(self, site, pictures):
        self.site, self.pictures, self.failures = site, pictures, []

    def expect(self, what, holds):
        if not holds:
            self.failures.append(what)
            print("FAILED:", what)

    def log_in(self, driver):
        driver.get(self.site.address + "/")
        driver.find_element(By.ID, "token").send_keys(TOKEN + Keys.ENTER)
        wait_for("the first page", lambda: driver.find_elements(By.TAG_NAME, "nav"))

    def paths(self):
        dead = self.site.get("/deliveries?state=dead")["deliveries"][0]
        event = self.site.get("/events?type=task_created")["events"][-1]
        return [
            "/", "/events", "/events?where=task.number!=%27%27", "/events/" + event["id"], "/tasks",
            "/tasks/" + event["data"]["task"]["number"], "/events/" + event["id"] + "/test", "/tasks?where=task.title!=%27%27",
            "/rules", "/rules/tell", "/rules/tell/workbench", "/backtests", "/calendar", "/deliveries", "/deliveries/" + dead["id"],
            "/deliveries?where=delivery.attempts%3E0", "/silences?rule=tell",
            "/deliveries/" + dead["id"] + "/edit", "/timers", "/silences", "/receivers", "/audit",
        ]

    def every_page(self, name, driver, rules=True):
        for path in self.paths():
            driver.get(self.site.address + path)
            title = driver.title
            self.expect(f"{name} {path}: opens", title.endswith("· Bellhop") and driver.find_elements(By.TAG_NAME, "h1"))
            if rules:
                for wrong in driver.execute_script(RULES):
                    self.expect(f"{name} {path}: {wrong}", False)
                errors = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
                self.expect(f"{name} {path}: {errors}", not errors)
            if self.pictures:
                file = re.sub(r"[^a-z]+", "-", re.sub(r"[0-9a-f]{32}|\?.*", "", path)).strip("-") or "overview"
                driver.save_screenshot(f"{self.pictures}/{name}-{file}.png")

    def acts(self, driver):
        """Each act of a person, with JavaScript or without."""
        address = self.site.address
        dead = self.site.get("/deliveries?state=dead")["deliveries"]
        driver.get(address + "/deliveries/" + dead[0]["id"] + "/edit")
        text = driver.find_element(By.ID, "after")
        value = text.get_attribute("value")
        text.clear()
        text.send_keys(value.replace("New:", "Very new:"))
        text.submit()
        wait_for("the edit", lambda: "Very new:" in driver.find_element(By.TAG_NAME, "body").text)
        driver.find_element(By.CSS_SELECTOR, "form[action$='/drop'] button").click()
        wait_for("the drop", lambda: self.site.get("/deliveries/" + dead[0]["id"]).get("state") == "dropped")
        driver.get(address + "/deliveries?state=dead")
        for box in driver.find_elements(By.NAME, "delivery"):
            box.click()
        driver.find_element(By.CSS_SELECTOR, "button[value=retry]").click()
        latest = lambda delivery: self.site.get("/deliveries/" + delivery["id"])["last_attempt"]
        wait_for("the retries", lambda: all(latest(delivery) > delivery["last_attempt"] for delivery in dead[1:]))
        driver.get(address + "/rules/tell")
        driver.find_element(By.CSS_SELECTOR, "form[action$='/pause'] button").click()
        wait_for("the pause", lambda: self.site.get("/rules/tell")["paused"])
        driver.find_element(By.CSS_SELECTOR, "form[action$='/resume'] button").click()
        wait_for("the end of the pause", lambda: not self.site.get("/rules/tell")["paused"])
        self.workbench(driver)
        driver.get(address + "/receivers")
        driver.find_element(By.CSS_SELECTOR, "form[action='/receivers/snow/pause'] button").click()
        stopped = lambda: {r["receiver"]: r["stopped"] for r in self.site.get("/receivers")["receivers"]}
        wait_for("the receiver's pause", lambda: stopped()["snow"])
        driver.find_element(By.CSS_SELECTOR, "form[action='/receivers/snow/resume'] button").click()
        wait_for("the end of the receiver's pause", lambda: not stopped()["snow"])
        driver.get(address + "/silences")
        driver.find_element(By.ID, "f-when").send_keys("task.title.contains('mail')")
        driver.find_element(By.ID, "f-reason").send_keys(TITLE)
        driver.find_element(By.ID, "f-reason").submit()
        wait_for("the silence", lambda: len(self.site.get("/silences")["silences"]) == 1)
        driver.find_element(By.CSS_SELECTOR, "form[action$='/end'] button").click()
        wait_for("the end of the silence", lambda: not self.site.get("/silences")["silences"])
        self.expect("nothing of a ticket runs as a script", "owned" not in driver.title)

    def workbench(self, driver):
        """Checks, tests, back-tests and saves a rule; the agent takes it up."""
        address = self.site.address + "/rules/tell/workbench"

        def enter(old, new, command):
            driver.get(address)
            text = driver.find_element(By.ID, "text")
            value = text.get_attribute("value")
            text.clear()
            text.send_keys(value.replace(old, new))
            driver.find_element(By.CSS_SELECTOR, f"button[value={command}]").click()

        enter("rule: tell\non:", "rule: tell\nwhen: tsk.title != ''\non:", "check")

        def body():
            try:
                return driver.find_element(By.TAG_NAME, "body").text
            except (NoSuchElementException, StaleElementReferenceException):  # the next page is coming
                return ""

        wait_for("the mistake", lambda: "did you mean `task`?" in body())
        self.picture(driver, "workbench")
        enter("New:", "Very new:", "test")
        wait_for("the tests", lambda: "1 passed" in body())
        enter("rule: tell\non:", "rule: tell\nwhen: task.title == 'Mail is down'\non:", "backtest")
        wait_for("the back-test", lambda: "Would go" in body())
        self.picture(driver, "back-test")
        enter("New:", "Truly new:", "save")
        wait_for("the saved rule", lambda: "Truly new:" in self.site.get("/rules/tell").get("text", ""))
        self.site.new_task("After the change")
        titles = lambda: [d["message"]["title"] for d in self.site.get("/deliveries?rule=tell")["deliveries"]]
        wait_for("the changed rule", lambda: any(title.startswith("Truly new:") for title in titles()))
        driver.get(self.site.address + "/rules/tell")
        driver.find_element(By.CSS_SELECTOR, "form[action='/backtests'] button").click()
        wait_for("the coverage", lambda: "Coverage" in body())
        driver.get(self.site.address + "/rules/tell")
        self.picture(driver, "coverage")

    def picture(self, driver, name):
        if self.pictures:
            driver.save_screenshot(f"{self.pictures}/{name}.png")

    def keyboard(self, driver):
        """From the address bar: the skip link comes first, each control can be reached, and Enter follows a link."""
        driver.get(self.site.address + "/")
        body = driver.find_element(By.TAG_NAME, "body")
        body.send_keys(Keys.TAB)
        focused = driver.switch_to.active_element
        self.expect("the first Tab reaches the skip link", focused.get_attribute("class") == "skip")
        wanted = driver.execute_script("return document.querySelectorAll('a, button:not([hidden]), input:not([type=hidden]), select').length")
        reached = 1
        for _ in range(wanted - 1):
            driver.switch_to.active_element.send_keys(Keys.TAB)
            outline = driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
            if driver.switch_to.active_element.tag_name in ("a", "button", "input", "select") and outline != "none":
                reached += 1
        self.expect(f"Tab reaches every control, visibly: {reached} of {wanted}", reached == wanted)
        driver.get(self.site.address + "/events")
        driver.find_element(By.TAG_NAME, "body").send_keys("/")
        self.expect("/ goes to the search", driver.switch_to.active_element.get_attribute("id") == "f-where")
        driver.switch_to.active_element.send_keys("event.type == 'task_created' && task.title == 'Mail is down'" + Keys.ENTER)
        wait_for("the search", lambda: len(driver.find_elements(By.CSS_SELECTOR, "tbody tr")) == 1)

    def live(self, driver):
        driver.get(self.site.address + "/events")
        driver.find_element(By.ID, "live").click()
        time.sleep(1)
        self.site.new_task("<b>Live</b>")
        wait_for("a live event", lambda: "<b>Live</b>" in driver.find_element(By.ID, "live-log").text)
        self.expect("a live event is text", not driver.find_elements(By.CSS_SELECTOR, "#live-log b"))


def main():
    program = os.path.abspath(sys.argv[1])
    pictures = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        site = Site(program, folder)
        checks = Checks(site, pictures)
        drivers = []

        def opened(**settings):
            driver = browser(**settings)
            drivers.append(driver)
            checks.log_in(driver)
            return driver

        try:
            site.begin()
            checks.every_page("light", opened())
            checks.every_page("dark", opened(dark=True, language="de"))
            checks.every_page("narrow", opened(size=(320, 700)))
            checks.keyboard(drivers[0])
            plain = opened(javascript=False)
            checks.every_page("plain", plain, rules=False)
            checks.acts(plain)
            checks.live(drivers[0])
        except BaseException:
            with open(folder + "/log") as log:
                print(log.read()[-4000:])
            raise
        finally:
            for driver in drivers:
                driver.quit()
            site.stop()
        print("The console in a browser:", "fine." if not checks.failures else f"{len(checks.failures)} failures.")
        sys.exit(1 if checks.failures else 0)


main()
