"""The console in a real browser: every page and every act, without JavaScript, by keyboard alone, on a narrow screen.

    console.py PROGRAM [FOLDER FOR PICTURES]

Runs the program against its own simulator, on ports of 127.0.0.1. Needs Debian's chromium-driver and python3-selenium.
"""

import base64
import os
import re
import resource
import sys
import tempfile
import time

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
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
for (const e of document.querySelectorAll('svg text')) {
  const a = lum(parse(getComputedStyle(e).fill).slice(0, 3)), box = e.closest('svg').querySelector('.node');
  const b = box ? lum(parse(getComputedStyle(box).fill).slice(0, 3)) : lum(back(e.closest('figure')).slice(0, 3));
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) wrong.push('contrast in a picture ' + ratio.toFixed(2) + ': ' + e.textContent.slice(0, 40));
  const place = e.getBoundingClientRect(), whole = e.closest('svg').getBoundingClientRect();
  if (place.right > whole.right + 1) wrong.push('text beyond its picture: ' + e.textContent.slice(0, 40));
}
// The borders of controls and of the bars of charts (1.4.11).
for (const e of document.querySelectorAll('input:not([type=hidden]), select, textarea, button, .button')) {
  if (!e.getClientRects().length) continue;
  const a = lum(parse(getComputedStyle(e).borderTopColor).slice(0, 3)), b = lum(back(e.parentElement).slice(0, 3));
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 3) wrong.push('contrast of a border ' + ratio.toFixed(2) + ': ' + e.outerHTML.slice(0, 80));
  const size = e.getBoundingClientRect();
  // 2.5.8; a box may be smaller where nothing else is near.
  if (size.height < 24 && e.type !== 'checkbox') wrong.push('low: ' + size.height + ': ' + e.outerHTML.slice(0, 80));
  if (e.scrollWidth > e.clientWidth + 2 && e.tagName === 'BUTTON') wrong.push('cut text: ' + e.outerHTML.slice(0, 80));
}
for (const e of document.querySelectorAll('svg[role=img] rect[class^=bar]')) {
  const a = lum(parse(getComputedStyle(e).fill).slice(0, 3)), b = lum(back(e.closest('figure')).slice(0, 3));
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 3) wrong.push('contrast of a bar ' + ratio.toFixed(2));
}
// What can be scrolled can be reached with the keyboard.
for (const e of document.querySelectorAll('pre')) if (e.tabIndex < 0 && e.scrollWidth > e.clientWidth) wrong.push('not to be scrolled: ' + e.outerHTML.slice(0, 80));
// The order of the keyboard is that of the text.
if (document.querySelector('[tabindex]:not([tabindex="0"]):not([tabindex="-1"])')) wrong.push('an order of its own');
for (const e of document.querySelectorAll('table')) {
  if (!e.caption || !e.querySelector('th[scope=col]')) wrong.push('a table without a name or heads');
}
for (const e of document.querySelectorAll('[role=alert], [role=status]')) if (!e.textContent.trim()) wrong.push('an empty message');
// A long text in one column leaves the others room for their words.
for (const e of document.querySelectorAll('th, td time, td button')) {
  if (!e.textContent.trim() || !e.getClientRects().length) continue;
  const range = document.createRange();
  range.selectNodeContents(e);
  const lines = new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size;
  if (lines > e.textContent.trim().split(/[\s-]+/).length) wrong.push('a broken word: ' + e.textContent);
}
const texts = [...document.querySelectorAll('a')].filter((e) => e.getClientRects().length);
for (const e of texts) if (e.closest('main') && e.getBoundingClientRect().right > innerWidth + 1) wrong.push('a link beyond the screen: ' + e.outerHTML.slice(0, 80));
// Text of a ticket made no element of its own.
if (document.querySelector('img, iframe, object, embed, [onerror], [onclick]')) wrong.push('markup from a text');
for (const e of document.querySelectorAll('svg[role=img]')) if (!e.getAttribute('aria-label')) wrong.push('no text: svg');
const levels = [...document.querySelectorAll('h1, h2, h3, h4')].map((e) => Number(e.tagName[1]));
if (levels.filter((l) => l === 1).length !== 1) wrong.push('not one h1');
levels.forEach((l, i) => { if (i && l > levels[i - 1] + 1) wrong.push('heading level skipped'); });
const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
if (new Set(ids).size !== ids.length) wrong.push('an id twice');
if (!document.documentElement.lang) wrong.push('no language');
if (document.querySelectorAll('main').length !== 1) wrong.push('not one main');
// The screen's width: a phone shows a page that is too wide in a wider window.
const wide = arguments[0];
if (document.documentElement.scrollWidth > wide) wrong.push('wider than the screen: ' + document.documentElement.scrollWidth);
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let n = walker.nextNode(); n; n = walker.nextNode()) {
  if (!n.data.trim() || n.parentElement.closest('pre, textarea, select, svg, .skip, caption, script')) continue;
  const range = document.createRange();
  range.selectNodeContents(n);
  for (const r of range.getClientRects()) if (r.right > wide + 1) { wrong.push('text beyond the screen: ' + n.data.slice(0, 60)); break; }
}
for (const e of document.querySelectorAll('input[placeholder]:not([placeholder=""]), textarea[placeholder]')) {
  const a = lum(parse(getComputedStyle(e, '::placeholder').color).slice(0, 3)), b = lum(back(e).slice(0, 3));
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) wrong.push('contrast of a hint ' + ratio.toFixed(2) + ': ' + e.id);
  if (e.scrollWidth > e.clientWidth + 2 && !e.value) wrong.push('cut hint: ' + e.id);
}
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
    driver.width = size[0]
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
            "/tasks/" + event["data"]["task"]["number"] + "/test",
            "/rules", "/rules/tell", "/rules/tell/workbench", "/rules/tell/workbench?mode=shadow", "/workbench?name=welcome", "/backtests", "/calendar", "/deliveries", "/deliveries/" + dead["id"],
            "/deliveries?where=delivery.attempts%3E0", "/silences?rule=tell", "/deliveries?rule=tell&where=delivry",
            "/rules?saved=rules/welcome.yaml", "/no-such-page",
            "/deliveries/" + dead["id"] + "/edit", "/timers", "/silences", "/receivers", "/audit",
        ]

    def every_page(self, name, driver, rules=True):
        for path in self.paths():
            driver.get(self.site.address + path)
            title = driver.title
            self.expect(f"{name} {path}: opens", title.endswith("· Bellhop") and driver.find_elements(By.TAG_NAME, "h1"))
            self.expect(f"{name} {path}: text of a ticket ran", "owned" not in title)
            if rules:
                for wrong in driver.execute_script(RULES, driver.width):
                    self.expect(f"{name} {path}: {wrong}", False)
                errors = [
                    entry["message"] for entry in driver.get_log("browser")
                    if entry["level"] == "SEVERE" and "status of 404" not in entry["message"]
                ]
                self.expect(f"{name} {path}: {errors}", not errors)
            if self.pictures:
                file = re.sub(r"[^a-z]+", "-", re.sub(r"[0-9a-f]{32}|INC\d+", "one", re.sub(r"=.*", "", path))).strip("-") or "overview"
                self.whole_picture(driver, f"{name}-{file}")

    def whole_picture(self, driver, name):
        """The page down to its end."""
        size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        with open(f"{self.pictures}/{name}.png", "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def login(self, driver):
        """The page of the login, before anybody is known, and after a wrong token."""
        driver.get(self.site.address + "/rules")
        for wrong in driver.execute_script(RULES, driver.width):
            self.expect(f"login: {wrong}", False)
        driver.find_element(By.ID, "token").send_keys("wrong" + Keys.ENTER)
        wait_for("the refusal", lambda: driver.find_elements(By.CSS_SELECTOR, "[role=alert]"))
        for wrong in driver.execute_script(RULES, driver.width):
            self.expect(f"refused login: {wrong}", False)
        if self.pictures:
            self.whole_picture(driver, "login")
        driver.get_log("browser")

    def log_out(self, driver):
        driver.get(self.site.address + "/")
        driver.find_element(By.CSS_SELECTOR, "form[action='/logout'] button").click()
        wait_for("the login", lambda: driver.find_elements(By.ID, "token"))
        driver.get(self.site.address + "/rules")
        self.expect("a session is over after the logout", driver.find_elements(By.ID, "token"))

    def acts(self, driver):
        """Each act of a person, with JavaScript or without."""
        address = self.site.address
        driver.get(address + "/deliveries?state=dead")
        self.expect("dead deliveries are listed", driver.find_elements(By.NAME, "delivery"))
        dead = self.site.get("/deliveries?state=dead")["deliveries"]
        driver.get(address + "/deliveries/" + dead[0]["id"] + "/edit")
        text = driver.find_element(By.ID, "after")
        value = text.get_attribute("value")
        text.clear()
        text.send_keys(value.replace("New:", "Very new:"))
        text.submit()
        wait_for("the edit", lambda: "Very new:" in self.text(driver))
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
        self.new_rule(driver)
        driver.get(address + "/receivers")
        paused = lambda: self.site.get("/status").get("paused") or []
        driver.find_element(By.CSS_SELECTOR, "form[action='/writes/pause'] button").click()
        wait_for("the pause of all writes", lambda: any(pause["cause"] == "writes" for pause in paused()))
        driver.find_element(By.CSS_SELECTOR, "form[action='/writes/resume'] button").click()
        wait_for("the end of that pause", lambda: not paused())
        driver.get(address + "/receivers")
        driver.find_element(By.CSS_SELECTOR, "form[action='/receivers/snow/pause'] button").click()
        stopped = lambda: {r["receiver"]: r["stopped"] for r in self.site.get("/receivers")["receivers"]}
        wait_for("the receiver's pause", lambda: stopped()["snow"])
        driver.find_element(By.CSS_SELECTOR, "form[action='/receivers/snow/resume'] button").click()
        wait_for("the end of the receiver's pause", lambda: not stopped()["snow"])
        event = self.site.get("/events?type=task_created")["events"][0]
        driver.get(address + "/events/" + event["id"])
        driver.find_element(By.CSS_SELECTOR, "a[href^='/silences?when=']").send_keys(Keys.ENTER)
        wait_for("what a silence would keep back", lambda: "in the last 7 days" in self.text(driver))
        driver.get(address + "/silences")
        driver.find_element(By.ID, "f-when").send_keys("tsk.title == ''")
        driver.find_element(By.ID, "f-when").submit()
        wait_for("what is wrong with the silence", lambda: driver.find_elements(By.CSS_SELECTOR, "[role=alert]"))
        driver.get(address + "/silences")
        driver.find_element(By.ID, "f-when").send_keys("task.title.contains('mail')")
        driver.find_element(By.ID, "f-reason").send_keys(TITLE)
        driver.find_element(By.ID, "f-reason").submit()
        wait_for("the silence", lambda: len(self.site.get("/silences")["silences"]) == 1)
        driver.find_element(By.CSS_SELECTOR, "form[action$='/end'] button").click()
        wait_for("the end of the silence", lambda: not self.site.get("/silences")["silences"])
        driver.get(address + "/backtests")
        driver.find_element(By.CSS_SELECTOR, "form[action='/backtests'] button").click()
        ends = "form[action^='/backtests/'][action$='/end'] button"
        wait_for("the back-test of all rules", lambda: driver.find_elements(By.CSS_SELECTOR, ends))
        wait_for("its report", lambda: "would have done" in self.text(driver))
        count = len(self.site.get("/backtests")["backtests"])
        driver.find_element(By.CSS_SELECTOR, ends).click()
        wait_for("a forgotten report", lambda: len(self.site.get("/backtests")["backtests"]) == count - 1)
        self.expect("nothing of a ticket runs as a script", "owned" not in driver.title)

    def text(self, driver):
        try:
            return driver.find_element(By.TAG_NAME, "body").text
        except (NoSuchElementException, StaleElementReferenceException):  # the next page is coming
            return ""
        except WebDriverException as error:
            # Chromium's driver has no error of its own for an element whose page goes while it is read.
            if "does not belong to the document" in str(error):
                return ""
            raise

    def new_rule(self, driver):
        """Makes a new rule from the page of the rules; the agent takes it up."""
        body = lambda: self.text(driver)
        driver.get(self.site.address + "/rules")
        driver.find_element(By.ID, "f-name").send_keys("welcome")
        driver.find_element(By.ID, "f-name").submit()
        wait_for("the new file", lambda: driver.find_elements(By.ID, "f-file"))
        press = lambda command: driver.find_element(By.CSS_SELECTOR, f"button[value={command}]").click()
        press("check")
        wait_for("the new rule's check", lambda: "The rules are valid." in body())
        self.expect("the difference against nothing", "+rule: welcome" in driver.find_element(By.CSS_SELECTOR, "pre.diff").text)
        self.expect("only added lines", not driver.find_elements(By.CSS_SELECTOR, "pre.diff del"))
        if self.pictures:
            self.whole_picture(driver, "new-rule")
        press("test")
        wait_for("the new rule's tests", lambda: "There are no tests beside this file." in body())
        file = driver.find_element(By.ID, "f-file")
        path = file.get_attribute("value")
        file.clear()
        file.send_keys("/etc/welcome.yaml")
        press("save")
        wait_for("the refused place", lambda: "reads no rules from /etc/welcome.yaml" in body())
        file = driver.find_element(By.ID, "f-file")
        file.clear()
        file.send_keys(path)
        press("save")
        wait_for("the saved file", lambda: "is saved." in body())
        wait_for("the new rule", lambda: self.site.get("/rules/welcome").get("file") == path)
        driver.get(self.site.address + "/workbench?name=welcome")
        press("save")
        wait_for("the refused name", lambda: "There is a file" in body())

    def by_keyboard(self, driver):
        """Acts with the keyboard alone: each control is reached with Tab and used with Enter, the blank or letters."""
        def reach(selector):
            wanted = driver.find_element(By.CSS_SELECTOR, selector)
            for _ in range(200):
                driver.switch_to.active_element.send_keys(Keys.TAB)
                if driver.switch_to.active_element == wanted:
                    return wanted
            self.expect(f"Tab reaches {selector}", False)
            return wanted

        driver.get(self.site.address + "/rules/tell")
        reach("form[action$='/pause'] button").send_keys(Keys.ENTER)
        wait_for("a pause by keyboard", lambda: self.site.get("/rules/tell")["paused"])
        wait_for("its page", lambda: driver.find_elements(By.CSS_SELECTOR, "form[action$='/resume'] button"))
        reach("form[action$='/resume'] button").send_keys(Keys.SPACE)
        wait_for("a resumption by keyboard", lambda: not self.site.get("/rules/tell")["paused"])
        driver.get(self.site.address + "/rules/tell/workbench")
        reach("#text").send_keys(Keys.TAB)
        self.expect("Tab leaves the text", driver.switch_to.active_element.get_attribute("value") == "check")
        driver.switch_to.active_element.send_keys(Keys.ENTER)
        wait_for("a check by keyboard", lambda: driver.find_elements(By.CSS_SELECTOR, "[role=status]"))
        driver.get(self.site.address + "/deliveries?state=dead")
        reach("input[name=delivery]").send_keys(Keys.SPACE)
        self.expect("the blank chooses", driver.switch_to.active_element.is_selected())
        driver.get(self.site.address + "/events/" + self.site.get("/events?type=task_created")["events"][0]["id"])
        summary = reach("details:not([open]) summary, details summary")
        was = driver.execute_script("return arguments[0].parentElement.open", summary)
        summary.send_keys(Keys.ENTER)
        self.expect("Enter opens and closes", driver.execute_script("return arguments[0].parentElement.open", summary) != was)

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

        body = lambda: self.text(driver)
        wait_for("the mistake", lambda: "did you mean `task`?" in body())
        self.picture(driver, "workbench")
        enter("New:", "Very new:", "test")
        wait_for("the tests", lambda: "1 passed" in body())
        enter("rule: tell\non:", "rule: tell\nwhen: task.title == 'Mail is down'\non:", "backtest")
        wait_for("the back-test", lambda: "Would be removed" in body())
        self.picture(driver, "back-test")
        enter("New:", "Truly new:", "save")
        wait_for("the saved rule", lambda: "Truly new:" in self.site.get("/rules/tell").get("text", ""))
        titles = lambda: [d["message"]["title"] for d in self.site.get("/deliveries?rule=tell")["deliveries"]]
        tried = []

        def has_changed():
            if any(title.startswith("Truly new:") for title in titles()):
                return True
            # The agent may see a task just before it has loaded the saved file: then the next one meets the changed rule.
            if not tried or time.monotonic() - tried[-1] > 5:
                tried.append(time.monotonic())
                self.site.new_task("After the change")
            return False

        wait_for("the changed rule", has_changed)
        driver.get(self.site.address + "/rules/tell")
        self.expect("recent events mark the lines of a rule", "✓ | rule: tell" in body() or "✓ | " in body())
        driver.find_element(By.CSS_SELECTOR, "form[action='/backtests'] button").click()
        wait_for("the coverage", lambda: "Coverage" in body())
        driver.get(self.site.address + "/rules/tell")
        if self.pictures:
            self.whole_picture(driver, "coverage")

    def picture(self, driver, name):
        if self.pictures:
            driver.save_screenshot(f"{self.pictures}/{name}.png")

    def keyboard(self, driver):
        """From the address bar: the skip link comes first, then each control in the order of the page, and none holds the focus."""
        controls = (
            "[...document.querySelectorAll('a, button, input:not([type=hidden]), select, textarea, summary, [tabindex=\"0\"]')]"
            ".filter((e) => e.checkVisibility() && e.getClientRects().length && !e.hidden)"
        )
        for path in self.paths():
            driver.get(self.site.address + path)
            wanted = driver.execute_script(f"return {controls}.length")
            driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
            if path != "/no-such-page":
                first = driver.switch_to.active_element.get_attribute("class")
                self.expect(f"{path}: the first Tab reaches the skip link", first == "skip")
            reached = []
            for _ in range(wanted):
                place, outline = driver.execute_script(
                    f"return [{controls}.indexOf(document.activeElement), getComputedStyle(document.activeElement).outlineStyle]"
                )
                if outline != "none":
                    reached.append(place)
                driver.switch_to.active_element.send_keys(Keys.TAB)
            self.expect(f"{path}: Tab reaches every control in order, visibly: {reached} of {wanted}", reached == list(range(wanted)))
        driver.get(self.site.address + "/events")
        driver.find_element(By.TAG_NAME, "body").send_keys("/")
        self.expect("/ goes to the search", driver.switch_to.active_element.get_attribute("id") == "f-where")
        driver.switch_to.active_element.send_keys("event.type == 'task_created' && task.title == 'Mail is down'" + Keys.ENTER)
        wait_for("the search", lambda: len(driver.find_elements(By.CSS_SELECTOR, "tbody tr")) == 1)

    def double_click(self, driver):
        """A double click on a button that acts is one act."""
        driver.get(self.site.address + "/silences")
        begin = driver.find_element(By.CSS_SELECTOR, "form[action='/silences'] button:not([name])")
        ActionChains(driver).double_click(begin).perform()
        silences = lambda: self.site.get("/silences")["silences"]
        wait_for("the silence of a double click", silences)
        time.sleep(1)
        self.expect("a double click begins one silence", len(silences()) == 1)
        wait_for("its page", lambda: driver.find_elements(By.CSS_SELECTOR, "form[action$='/end'] button"))
        driver.find_element(By.CSS_SELECTOR, "form[action$='/end'] button").click()
        wait_for("its end", lambda: not silences())

    def live(self, driver):
        driver.get(self.site.address + "/events")
        driver.find_element(By.ID, "live").click()
        time.sleep(1)
        self.site.new_task("<b>Live</b>")
        wait_for("a live event", lambda: "<b>Live</b>" in driver.find_element(By.ID, "live-log").text)
        self.expect("a live event is text", not driver.find_elements(By.CSS_SELECTOR, "#live-log b"))
        show = """Object.defineProperty(document, "hidden", {value: !arguments[0], configurable: true});
            document.dispatchEvent(new Event("visibilitychange"));"""
        driver.execute_script(show, False)
        self.site.new_task("While hidden")
        created = lambda: self.site.get("/events?type=task_created").get("events", [])
        wait_for("the event", lambda: any(event["data"]["task"]["title"] == "While hidden" for event in created()))
        time.sleep(1)
        log = lambda: driver.find_element(By.ID, "live-log").text
        self.expect("a hidden tab has no stream", "While hidden" not in log())
        driver.execute_script(show, True)
        wait_for("the event that was missed", lambda: "While hidden" in log())
        shown = [link.get_attribute("href") for link in driver.find_elements(By.CSS_SELECTOR, "#live-log a")]
        self.expect(f"no live event comes twice: {shown}", len(shown) == len(set(shown)))


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
            soft, hard = resource.prlimit(site.processes[1].pid, resource.RLIMIT_NOFILE)
            checks.expect(f"the agent has room for thousands of viewers: {soft} of {hard} files", soft >= min(hard, 16384))
            stranger = browser()
            drivers.append(stranger)
            checks.login(stranger)
            light = opened()
            checks.every_page("light", light)
            checks.every_page("dark", opened(dark=True, language="de"))
            checks.every_page("narrow", opened(size=(320, 700)))
            checks.every_page("medium", opened(language="de", size=(900, 700)))
            checks.every_page("dark-narrow", opened(dark=True, language="de", size=(320, 700)))
            checks.keyboard(light)
            checks.by_keyboard(light)
            plain = opened(javascript=False)
            checks.every_page("plain", plain, rules=False)
            checks.acts(plain)
            checks.live(light)
            checks.double_click(light)
            checks.log_out(plain)
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
