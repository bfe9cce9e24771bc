// The roles of a room: what each allows, and who stands above whom.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { readRoles } from "../history";
import { connection } from "../link";
import { permissionNames, withBit } from "../permission_names";
import type { RoomModel } from "../room";
import type { Role } from "../wire/generated";
import { Check, Field, Form, Select } from "./dialog";

export function RolesSettings({ room }: { room: RoomModel }): JSX.Element {
  const [roleId, setRoleId] = useState("");
  useEffect(() => void readRoles(room), [room]);
  const roles = room.roles.value ?? [];
  const role = roles.find((one) => one.roleId === roleId);
  const options = [{ value: "", label: "New role" }, ...roles.map((one) => ({ value: one.roleId, label: one.isEveryone ? "Everyone" : (one.name ?? "") }))];
  return (
    <>
      <Select label="Role" value={roleId} options={options} onChange={setRoleId} />
      <RoleForm key={role?.roleId ?? "new"} room={room} role={role} onMade={setRoleId} />
      <p class="field-hint">Members get roles in their own dialog: Members, then the name.</p>
    </>
  );
}

function RoleForm({ room, role, onMade }: { room: RoomModel; role: Role | undefined; onMade: (roleId: string) => void }): JSX.Element {
  const { roomId } = room;
  const [name, setName] = useState(role?.name ?? "");
  const [position, setPosition] = useState(String(role?.position ?? 1));
  const [permissions, setPermissions] = useState(Number(role?.permissions ?? "0"));
  const [isDeleting, setDeleting] = useState(false);
  const [note, setNote] = useState("");
  const nonce = useRef(crypto.randomUUID());
  const save = async () => {
    if (!role) {
      const made = await connection.request("role.create", { roomId, name: name.trim(), position: Number(position), permissions: String(permissions), nonce: nonce.current });
      await readRoles(room);
      return onMade(made.role.roleId);
    }
    await connection.request("role.update", {
      roomId,
      roleId: role.roleId,
      permissions: String(permissions),
      ...(!role.isEveryone && { name: name.trim(), position: Number(position) }),
    });
    await readRoles(room);
    setNote("Saved.");
  };
  return (
    <>
      <Form submit={role ? "Save role" : "Create role"} isReady={role?.isEveryone || name.trim() !== ""} onSubmit={save}>
        {!role?.isEveryone && (
          <>
            <Field label="Name" value={name} onInput={setName} maxLength={100} />
            <Field label="Position" type="number" value={position} onInput={setPosition} hint="Higher has more authority." />
          </>
        )}
        <fieldset class="choices">
          <legend>Allows</legend>
          {permissionNames.map(([bit, label]) => (
            <Check key={bit} label={label} isOn={(permissions & bit) !== 0} onChange={(isOn) => setPermissions(withBit(permissions, bit, isOn))} />
          ))}
        </fieldset>
        <p class="field-hint" role="status">{note}</p>
      </Form>
      {role && !role.isEveryone && !isDeleting && (
        <button type="button" class="button link" onClick={() => setDeleting(true)}>
          Delete this role
        </button>
      )}
      {role && isDeleting && (
        <Form
          submit={`Delete ${role.name}`}
          isDangerous
          onCancel={() => setDeleting(false)}
          onSubmit={async () => {
            await connection.request("role.delete", { roomId, roleId: role.roleId });
            await readRoles(room);
            onMade("");
          }}
        />
      )}
    </>
  );
}
