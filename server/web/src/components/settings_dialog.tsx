// The settings of a room, section by section, each for those who hold its bit.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RoomModel } from "../room";
import { permission } from "../wire/generated";
import { BansSettings } from "./bans_settings";
import { Modal } from "./dialog";
import { EmojiSettings } from "./emoji_settings";
import { FilterSettings } from "./filter_settings";
import { GeneralSettings } from "./general_settings";
import { InvitesSettings } from "./invites_settings";
import { LogSettings } from "./log_settings";
import { RolesSettings } from "./roles_settings";
import { WebhooksSettings } from "./webhooks_settings";

interface Section {
  name: string;
  bit: number;
  view: (props: { room: RoomModel }) => JSX.Element;
}

const sections: Section[] = [
  { name: "General", bit: permission.ManageRoom, view: GeneralSettings },
  { name: "Roles", bit: permission.ManageRoles, view: RolesSettings },
  { name: "Invites", bit: permission.ManageRoom, view: InvitesSettings },
  { name: "Word filter", bit: permission.ManageRoom, view: FilterSettings },
  { name: "Bans", bit: permission.BanMembers, view: BansSettings },
  { name: "Audit log", bit: permission.ManageRoom, view: LogSettings },
  { name: "Webhooks", bit: permission.ManageWebhooks, view: WebhooksSettings },
  { name: "Emoji", bit: permission.ManageEmojis, view: EmojiSettings },
];

export function settingsSections(room: RoomModel): Section[] {
  return room.view.value.room.type === "DirectMessage" ? [] : sections.filter(({ bit }) => room.may(bit));
}

export function SettingsDialog({ room }: { room: RoomModel }): JSX.Element {
  const allowed = settingsSections(room);
  const [name, setName] = useState(allowed[0]?.name);
  const section = allowed.find((one) => one.name === name) ?? allowed[0];
  return (
    <Modal title="Room settings" isWide>
      <nav class="sections" aria-label="Sections">
        {allowed.map((one) => (
          <button key={one.name} type="button" class="section-button" aria-current={one === section ? "true" : undefined} onClick={() => setName(one.name)}>
            {one.name}
          </button>
        ))}
      </nav>
      {section ? <section.view key={section.name} room={room} /> : <p class="panel-note">You may not change anything here any more.</p>}
    </Modal>
  );
}
